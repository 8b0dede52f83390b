import { fuzz } from "../support/fuzz/rules.ts"

fuzz({ share: 0.05, requests: 300 })
