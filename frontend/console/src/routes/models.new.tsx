import { Fieldset, FileInput, NumberInput, Stack, Switch, TagsInput, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { createFileRoute } from "@tanstack/react-router";
import { useState } from "react";
import { Answer } from "../components/Answer";
import { PageHead } from "../components/PageHead";
import { Panel } from "../components/Panel";
import { UnsavedChanges } from "../components/UnsavedChanges";
import { Upload } from "../components/Upload";
import { t } from "../language/t";
import { PAIRS, type Pair } from "../models/queries";
import { firstRecipe, labelsNeeded, type Recipe, type RecipeSchema, recipeSchemaQuery } from "../models/recipe";
import { KindForm } from "../plan/KindForm";
import { KindSelect } from "../plan/KindSelect";
import { Definitions, startOf } from "../plan/schema";
import { Permitted } from "../session/Permitted";

export const Route = createFileRoute("/models/new")({ component: NewPair });

const PROGRAM = ".pt2";
const SWITCHES = [
  ["clipping", t`clipping of gradients`],
  ["distillation", t`distillation`],
] as const;
const PARTS = [
  ["loss", t`What is the loss?`],
  ["optimiser", t`What makes a step of the gradient?`],
  ["trains", t`What is trained?`],
] as const;

interface Files {
  readonly device: File | null;
  readonly cloud: File | null;
  readonly loss: File | null;
}

function NewPair() {
  const navigate = Route.useNavigate();
  const schema = useQuery(recipeSchemaQuery);
  const [changed, setRecipe] = useState<Recipe>();
  const [sent, setSent] = useState(false);
  const recipe = changed ?? (schema.data === undefined ? undefined : firstRecipe(schema.data));
  const form = useForm({
    initialValues: { name: "", device: null, cloud: null, loss: null, labels: [] as string[], batch_size: 32 } as {
      name: string;
      labels: string[];
      batch_size: number | string;
    } & { -readonly [Name in keyof Files]: Files[Name] },
  });
  const { values } = form;
  const fill = () => {
    const body = new FormData();
    body.append("name", values.name.trim());
    if (values.device !== null) body.append("device", values.device);
    if (values.cloud !== null) body.append("cloud", values.cloud);
    if (values.loss !== null && recipe?.loss.kind === "custom") body.append("loss", values.loss);
    for (const label of values.labels) body.append("labels", label);
    body.append("batch_size", String(values.batch_size));
    body.append("recipe", JSON.stringify(recipe ?? {}));
    return body;
  };
  return (
    <>
      <UnsavedChanges present={!sent && (changed !== undefined || form.isDirty())} />
      <PageHead
        title="Upload a pair"
        says="A cloud model, which teaches, and a device model, which learns from it; both written by torch.export.save."
      />
      <Permitted needs={{ action: "registry.submit_pair" }}>
        <Answer of={schema} height={320}>
          {(schemas) =>
            recipe === undefined ? null : (
              <Stack gap="lg" maw={760}>
                <Panel title="The models">
                  <Stack gap="sm">
                    <TextInput label="Name" maxLength={100} maw={420} {...form.getInputProps("name")} />
                    <FileInput
                      label="Device model"
                      description="the small one, which devices train"
                      placeholder={`Choose a ${PROGRAM} file`}
                      accept={PROGRAM}
                      clearable
                      maw={420}
                      {...form.getInputProps("device")}
                    />
                    <FileInput
                      label="Cloud model"
                      description="the large one; it takes and gives what the device model does"
                      placeholder={`Choose a ${PROGRAM} file`}
                      accept={PROGRAM}
                      clearable
                      maw={420}
                      {...form.getInputProps("cloud")}
                    />
                    {labelsNeeded(recipe) && (
                      <TagsInput
                        label="Classes"
                        description="what each is called, in the order of the model's outputs; press Enter after each, or paste them with commas"
                        splitChars={[",", "\n"]}
                        maw={640}
                        {...form.getInputProps("labels")}
                      />
                    )}
                    <NumberInput
                      label="Batch"
                      description="samples in a train step"
                      min={1}
                      max={4096}
                      allowDecimal={false}
                      maw={420}
                      {...form.getInputProps("batch_size")}
                    />
                  </Stack>
                </Panel>
                <Panel title="How the device model learns">
                  <Stack gap="md">
                    {PARTS.map(([part, question]) => (
                      <Part
                        key={part}
                        question={question}
                        kinds={schemas[part]}
                        values={recipe[part]}
                        onChange={(values) => setRecipe({ ...recipe, [part]: values })}
                      />
                    ))}
                    {recipe.loss.kind === "custom" && (
                      <FileInput
                        label="The loss as a program"
                        placeholder={`Choose a ${PROGRAM} file`}
                        accept={PROGRAM}
                        clearable
                        maw={420}
                        {...form.getInputProps("loss")}
                      />
                    )}
                    {SWITCHES.map(([name, words]) => (
                      <Switch
                        key={name}
                        label={words}
                        description={schemas[name].description}
                        checked={recipe[name]}
                        onChange={(event) => setRecipe({ ...recipe, [name]: event.currentTarget.checked })}
                      />
                    ))}
                  </Stack>
                </Panel>
                <Text size="sm" c="var(--quiet)">
                  A pre-flight compiles the device model into ONNX graphs, trains it for some steps and tells what it
                  takes of usual devices. It takes less than a minute for small models.
                </Text>
                <Upload
                  action="registry.submit_pair"
                  label="Upload and check"
                  path="/api/pairs/"
                  form={fill}
                  blocked={blockedBy(values, recipe)}
                  changes={[PAIRS]}
                  onDone={(answer) => {
                    setSent(true);
                    navigate({ to: "/models/$id", params: { id: (answer as Pair).id }, ignoreBlocker: true });
                  }}
                />
              </Stack>
            )
          }
        </Answer>
      </Permitted>
    </>
  );
}

function blockedBy(
  values: Files & { readonly name: string; readonly labels: readonly string[] },
  recipe: Recipe,
): string | undefined {
  if (values.name.trim() === "") return t`Give the pair a name first.`;
  if (values.device === null) return t`Choose the device model's file first.`;
  if (values.cloud === null) return t`Choose the cloud model's file first.`;
  if (recipe.loss.kind === "custom" && values.loss === null) return t`Choose the file of the loss first.`;
  if (labelsNeeded(recipe) && values.labels.length < (recipe.loss.kind === "cross_entropy" ? 2 : 1)) {
    return t`Name the classes first.`;
  }
  return undefined;
}

interface PartProps {
  readonly question: string;
  readonly kinds: RecipeSchema["loss"];
  readonly values: Recipe["loss"];
  readonly onChange: (values: Recipe["loss"]) => void;
}

function Part({ question, kinds, values, onChange }: PartProps) {
  const schema = kinds[values.kind];
  const definitions = schema === undefined ? undefined : new Definitions(schema);
  return (
    <Fieldset legend={question}>
      <Stack gap="sm">
        <KindSelect
          aria-label={question}
          description={definitions?.description}
          kinds={Object.keys(kinds)}
          value={values.kind}
          onChange={(next) => {
            const chosen = kinds[next];
            if (chosen !== undefined) onChange(startOf(next, new Definitions(chosen).fields) as Recipe["loss"]);
          }}
        />
        {schema !== undefined && definitions !== undefined && definitions.fields.length > 0 && (
          <KindForm schema={schema} values={values} onChange={(next) => onChange(next as Recipe["loss"])} />
        )}
      </Stack>
    </Fieldset>
  );
}
