import { chineseNames, nameWithin } from "../../scoring/criteria.ts"

export { nameWithin }

/** A target as readers of Chinese know it; one that has no such name by the one it has. */
export const nameInChinese = (key: string, name: string): string => chineseNames[key] ?? name
