import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import { Definitions, type Schema, startOf, type Values } from "../plan/schema";

type Chosen = Values & { readonly kind: string };

/** What a device model's train step is compiled for. */
export interface Recipe {
  readonly loss: Chosen;
  readonly optimiser: Chosen;
  readonly trains: Chosen;
  readonly clipping: boolean;
  readonly distillation: boolean;
}

type Kinds = Readonly<Record<string, Schema>>;

/** By slot the kinds; of what has no kinds, the field itself. */
export interface RecipeSchema {
  readonly loss: Kinds;
  readonly optimiser: Kinds;
  readonly trains: Kinds;
  readonly clipping: Schema;
  readonly distillation: Schema;
}

export const recipeSchemaQuery = queryOptions({
  queryKey: ["recipe-schema"],
  queryFn: async ({ signal }) =>
    (await api.GET("/api/recipe-schema/", { signal })).data as unknown as RecipeSchema | undefined,
  staleTime: Number.POSITIVE_INFINITY,
});

const FIRST = { loss: "cross_entropy", optimiser: "sgd", trains: "all" } as const;
/** Losses whose outputs have names. */
const LABELLED: ReadonlySet<string> = new Set(["cross_entropy", "binary_cross_entropy"]);

/** What most classifiers want, every setting at its default. */
export function firstRecipe(schema: RecipeSchema): Recipe {
  const start = (part: "loss" | "optimiser" | "trains") => {
    const kind = FIRST[part];
    return startOf(kind, new Definitions(schema[part][kind] ?? {}).fields) as Chosen;
  };
  return {
    loss: start("loss"),
    optimiser: start("optimiser"),
    trains: start("trains"),
    clipping: schema.clipping.default === true,
    distillation: schema.distillation.default === true,
  };
}

/** Whether the recipe's outputs have names, which must be given. */
export function labelsNeeded({ loss }: Recipe): boolean {
  return LABELLED.has(loss.kind) || (loss.kind === "custom" && loss.task !== "values");
}
