/** Things beside a baseline: as many as there are colours, but one. */
export const MOST_COMPARED = 5;
