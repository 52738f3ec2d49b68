import { Alert, Anchor, createTheme, type MantineColorsTuple, PasswordInput, Tooltip } from "@mantine/core";

const teal: MantineColorsTuple = [
  "#e5f7f4",
  "#d3ebe7",
  "#a7d7ce",
  "#78c2b4",
  "#52b09f",
  "#3aa591",
  "#2b9f8a",
  "#0a7d6e",
  "#066e61",
  "#005f53",
];

const dark: MantineColorsTuple = [
  "#e8ebe9",
  "#c3cac7",
  "#9aa39f",
  "#6a7370",
  "#343b38",
  "#2a302e",
  "#1f2422",
  "#171b1a",
  "#121514",
  "#0c0e0d",
];

/** A dialog's title is as a panel's; the button that closes it has a name, and its head is no banner of the page. */
const dialog = {
  styles: { title: { fontWeight: 650 } },
  defaultProps: { closeButtonProps: { "aria-label": "Close" }, attributes: { header: { role: "presentation" } } },
};

/** Colours and shapes; the words of states and their colours are in `components/State`. */
export const theme = createTheme({
  primaryColor: "teal",
  primaryShade: { light: 7, dark: 7 },
  colors: { teal, dark },
  fontFamily: '"Inter", system-ui, sans-serif',
  fontFamilyMonospace: "ui-monospace, SFMono-Regular, Menlo, monospace",
  defaultRadius: "md",
  headings: { fontWeight: "650" },
  cursorType: "pointer",
  components: {
    // On its tint a title in the tint's own colour is hard to read.
    Alert: Alert.extend({ styles: { title: { color: "var(--mantine-color-text)" } } }),
    // A link within a sentence is told from it by more than its colour.
    Anchor: Anchor.extend({ defaultProps: { underline: "always" } }),
    Drawer: dialog,
    // What shows that a field has the keyboard does not touch its label.
    InputWrapper: { styles: { label: { marginBottom: 3 } } },
    Modal: dialog,
    PasswordInput: PasswordInput.extend({ defaultProps: { visibilityToggleFocusable: true } }),
    // What a pointer is told, a keyboard and a finger are told, too.
    Tooltip: Tooltip.extend({ defaultProps: { events: { hover: true, focus: true, touch: true } } }),
  },
});
