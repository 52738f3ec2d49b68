/** No help between devices: each has the federation's model and its own training. */
import { kind } from "../kinds";
import type { HelpRules } from ".";

export const noHelp = kind("help", "none", {}, (): HelpRules | null => null);
