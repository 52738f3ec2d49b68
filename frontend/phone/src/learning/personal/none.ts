/** No model beside the version: the device answers with what the federation has learned. */
import { kind } from "../kinds";
import type { Personal } from ".";

export const noPersonal = kind("personal", "none", {}, (): Personal => ({ rules: () => null }));
