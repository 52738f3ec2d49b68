import ts from "typescript";

/** Where a text of people's language stands: attributes of elements and fields of objects that are shown. */
const SHOWN = new Set([
  "aria-label",
  "blocked",
  "confirm",
  "confirmLabel",
  "description",
  "detail",
  "done",
  "header",
  "heading",
  "help",
  "label",
  "nothingFoundMessage",
  "placeholder",
  "says",
  "searchable",
  "title",
  "unready",
  "words",
]);

/** A text in a file: `words` with `{name}` for each value and `<0>…</0>` or `<0/>` for each element in it. */
export interface Message {
  readonly words: string;
  /** The line of the file, from 1. */
  readonly line: number;
}

/** Gives the translation of what a message says in English. */
export type Translate = (message: Message) => string;

/** The messages of a file, in order; those inside values of others come before them. */
export function messagesOf(path: string, source: string): readonly Message[] {
  const found: Message[] = [];
  translated(path, source, (message) => {
    found.push(message);
    return message.words;
  });
  return found;
}

/** The file's source with each message in other words. Raises an Error for words with a part that the message has not. */
export function translated(path: string, source: string, translate: Translate): string {
  const kind = path.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true, kind);
  return new Rewriter(file, translate).rewrite(file);
}

type Shown = ts.StringLiteral | ts.NoSubstitutionTemplateLiteral | ts.TemplateExpression;
type WithChildren = ts.JsxElement | ts.JsxFragment;

class Rewriter {
  constructor(
    private readonly file: ts.SourceFile,
    private readonly translate: Translate,
  ) {}

  /** The source of a node with the messages inside it translated. */
  rewrite(node: ts.Node): string {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node)) return node.getText(this.file);
    if (isMarked(node)) return this.literal(node.template as Shown);
    if (isShown(node) && stands(node)) {
      const written = this.literal(node);
      return ts.isJsxAttribute(node.parent) ? `{${written}}` : written;
    }
    if ((ts.isJsxElement(node) || ts.isJsxFragment(node)) && node.children.some(hasLetters)) return this.element(node);
    return this.inside(node);
  }

  private inside(node: ts.Node): string {
    let text = "";
    let from = node.getStart(this.file);
    ts.forEachChild(node, (child) => {
      const start = child.getStart(this.file);
      text += this.file.text.slice(from, start) + this.rewrite(child);
      from = child.getEnd();
    });
    return text + this.file.text.slice(from, node.getEnd());
  }

  private say(node: ts.Node, words: string): string {
    const line = this.file.getLineAndCharacterOfPosition(node.getStart(this.file)).line + 1;
    return this.translate({ words, line });
  }

  /** A string or a template as a template in other words. */
  private literal(node: Shown): string {
    const parts = new Parts();
    let words: string;
    if (ts.isTemplateExpression(node)) {
      words = node.head.text;
      for (const { expression, literal } of node.templateSpans) {
        words += `{${parts.value(expression, this.rewrite(expression))}}${literal.text}`;
      }
    } else words = node.text;
    if (!LETTER.test(words.replaceAll(VALUE, ""))) return this.inside(node);
    const pieces = cut(this.say(node, words));
    const text = pieces.map((piece) => (piece.kind === "text" ? escaped(piece.text) : `\${${parts.source(piece)}}`));
    return `\`${text.join("")}\``;
  }

  /** An element whose text is one message, its values and elements among the words. */
  private element(node: WithChildren): string {
    const parts = new Parts();
    const words = this.words(node, parts);
    const pieces = cut(this.say(node, words));
    const children = pieces.map((piece) => {
      if (piece.kind === "text") return `{${JSON.stringify(piece.text)}}`;
      return piece.kind === "value" ? `{${parts.source(piece)}}` : parts.source(piece);
    });
    const [open, close] = this.ends(node);
    return open + children.join("") + close;
  }

  private words(node: WithChildren, parts: Parts): string {
    return node.children.map((child) => this.wordsOf(child, parts)).join("");
  }

  private wordsOf(child: ts.JsxChild, parts: Parts): string {
    if (ts.isJsxText(child)) return asShown(child.text);
    if (ts.isJsxExpression(child)) {
      if (child.expression === undefined) return ""; // a comment
      if (ts.isStringLiteral(child.expression)) return child.expression.text;
      return `{${parts.value(child.expression, this.rewrite(child.expression))}}`;
    }
    if (ts.isJsxSelfClosingElement(child) || !child.children.some(hasWords)) {
      return `<${parts.element([this.rewrite(child), ""])}/>`;
    }
    const name = parts.element(this.ends(child));
    return `<${name}>${this.words(child, parts)}</${name}>`;
  }

  private ends(node: WithChildren): readonly [open: string, close: string] {
    return ts.isJsxElement(node)
      ? [this.rewrite(node.openingElement), node.closingElement.getText(this.file)]
      : ["<>", "</>"];
  }
}

type Piece =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "value" | "open" | "close"; readonly name: string };

const LETTER = /\p{L}/u;
const VALUE = /\{\w+\}/g;
const PIECE = /\{(?<value>\w+)\}|<(?<open>\d+)(?<empty>\/?)>|<\/(?<close>\d+)>/g;

/** The values and elements of one message, by the names that they have in its words. */
class Parts {
  private readonly values = new Map<string, string>();
  private readonly elements: (readonly [open: string, close: string])[] = [];

  value(node: ts.Expression, source: string): string {
    const name = nameOf(node);
    for (let count = 1; ; count += 1) {
      const full = count === 1 ? name : `${name}${count}`;
      const taken = this.values.get(full);
      if (taken === undefined || taken === source) {
        this.values.set(full, source);
        return full;
      }
    }
  }

  element(ends: readonly [open: string, close: string]): number {
    return this.elements.push(ends) - 1;
  }

  source(piece: Exclude<Piece, { kind: "text" }>): string {
    const [open, close] = this.elements[Number(piece.name)] ?? [];
    const source = piece.kind === "value" ? this.values.get(piece.name) : piece.kind === "open" ? open : close;
    if (source === undefined) throw new Error(`“${piece.name}” is a part of no message here`);
    return source;
  }
}

/** Why a translation does not fit a message, as the end of a sentence: it drops or invents a part, or does not close one. */
export function misfit(words: string, translation: string): string | undefined {
  const [wanted, given] = [parts(words), parts(translation)];
  return wanted === given ? undefined : `has the parts “${wanted}”, its translation “${given}”`;
}

function parts(text: string): string {
  return [...new Set(text.match(PIECE))].sort().join(" ");
}

/** A text in pieces: those between its parts, and its parts. */
function cut(text: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const found of text.matchAll(PIECE)) {
    if (found.index > from) pieces.push({ kind: "text", text: text.slice(from, found.index) });
    from = found.index + found[0].length;
    const { value, open, empty, close } = found.groups ?? {};
    if (value !== undefined) pieces.push({ kind: "value", name: value });
    if (open !== undefined) pieces.push({ kind: "open", name: open });
    if (close !== undefined) pieces.push({ kind: "close", name: close });
    if (open !== undefined && empty === "/") pieces.push({ kind: "close", name: open });
  }
  if (from < text.length) pieces.push({ kind: "text", text: text.slice(from) });
  return pieces;
}

/** What a value is called in a message: as the last name in it. */
function nameOf(node: ts.Expression): string {
  if (ts.isIdentifier(node)) return node.text;
  if (ts.isPropertyAccessExpression(node)) return node.name.text;
  if (ts.isNonNullExpression(node) || ts.isParenthesizedExpression(node)) return nameOf(node.expression);
  if (ts.isCallExpression(node)) {
    const [first] = node.arguments;
    return first === undefined || ts.isFunctionLike(first) ? nameOf(node.expression) : nameOf(first);
  }
  return "value";
}

function isMarked(node: ts.Node): node is ts.TaggedTemplateExpression {
  return ts.isTaggedTemplateExpression(node) && ts.isIdentifier(node.tag) && node.tag.text === "t";
}

function isShown(node: ts.Node): node is Shown {
  return ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node) || ts.isTemplateExpression(node);
}

/** Whether a string is shown where it stands: as a child of an element, or under a name of `SHOWN`. */
function stands(node: ts.Node): boolean {
  const { parent } = node;
  if (ts.isJsxAttribute(parent)) return SHOWN.has(parent.name.getText());
  if (ts.isPropertyAssignment(parent)) return parent.initializer === node && SHOWN.has(keyOf(parent.name));
  if (ts.isJsxExpression(parent)) return ts.isJsxAttribute(parent.parent) ? stands(parent) : true;
  if (ts.isParenthesizedExpression(parent)) return stands(parent);
  if (ts.isConditionalExpression(parent)) return parent.condition !== node && stands(parent);
  if (ts.isTemplateSpan(parent)) return ts.isTaggedTemplateExpression(parent.parent.parent) || stands(parent.parent);
  return ts.isBinaryExpression(parent) && CHOICES.has(parent.operatorToken.kind) && parent.right === node
    ? stands(parent)
    : false;
}

const CHOICES: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.AmpersandAmpersandToken,
  ts.SyntaxKind.BarBarToken,
  ts.SyntaxKind.QuestionQuestionToken,
]);

function keyOf(name: ts.PropertyName): string {
  return ts.isIdentifier(name) || ts.isStringLiteral(name) ? name.text : "";
}

/** Whether a child is text of its own. */
function hasLetters(child: ts.JsxChild): boolean {
  return ts.isJsxText(child) && LETTER.test(child.text);
}

/** Whether a child says something among the words around its element. */
function hasWords(child: ts.JsxChild): boolean {
  return ts.isJsxText(child) ? child.text.trim() !== "" : !ts.isJsxSelfClosingElement(child);
}

/** The text of an element as React shows it: lines are joined by one space, and blank ones and margins go. */
function asShown(text: string): string {
  const lines = text.replaceAll("&apos;", "'").split(/\r?\n/);
  return lines
    .map((line, place) => {
      const start = place === 0 ? line : line.trimStart();
      return place === lines.length - 1 ? start : start.trimEnd();
    })
    .filter((line) => line !== "")
    .join(" ");
}

function escaped(text: string): string {
  return text.replaceAll(/[\\`]|\$(?=\{)/g, "\\$&");
}
