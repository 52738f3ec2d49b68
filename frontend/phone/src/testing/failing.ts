/** What is expected to fail. */
import type { CodedError } from "../wire/errors";

/** The code of the error with which it ends. */
export async function code(does: Promise<unknown>): Promise<string> {
  try {
    await does;
  } catch (error) {
    return (error as CodedError).code;
  }
  return "no error";
}
