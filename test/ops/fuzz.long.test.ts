/** Every case of every list; fuzz.test.ts tries a share of each. */
import { fuzz } from "../support/fuzz/rules.ts"

fuzz({ share: 1, requests: 1500 })
