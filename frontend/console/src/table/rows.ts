import { keepPreviousData } from "@tanstack/react-query";
import type { TableSearch } from "./search";

export const PAGE_SIZE = 50;

/** A list's query parameters, as the platform names them; it refuses a sort that it does not know. */
export function asked({ q, sort, page, archived }: TableSearch) {
  return {
    page_size: PAGE_SIZE,
    ...(q !== undefined && { search: q }),
    ...(sort !== undefined && { sort: sort as never }),
    ...(page !== undefined && { page }),
    ...(archived === true && { archived }),
  };
}

/** How lists are kept: the rows that are shown stay until the next ones are there. */
export const LIST = { placeholderData: keepPreviousData } as const;
