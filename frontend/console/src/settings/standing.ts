/** Key of the query how one's second factors stand. */
export const SECOND_FACTOR = ["second-factor"] as const;
