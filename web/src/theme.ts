import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from '@mantine/core';

const SANS =
  'system-ui, -apple-system, "Segoe UI", Roboto, "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif';
const MONO = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", "Noto Sans Mono CJK SC", monospace';

/** From the brightest text to the darkest surface, in the hue of the page. */
const DARK: MantineColorsTuple = [
  '#d7dde6',
  '#b7c0cc',
  '#9da7b4',
  '#76818f',
  '#3a434f',
  '#262d36',
  '#1c222a',
  '#171b21',
  '#12161b',
  '#0c0f13',
];

export const theme = createTheme({
  colors: { dark: DARK },
  fontFamily: SANS,
  fontFamilyMonospace: MONO,
  primaryColor: 'blue',
  primaryShade: { light: 8, dark: 8 },
  defaultRadius: 'sm',
  cursorType: 'pointer',
  respectReducedMotion: true,
  fontSizes: { xs: '12px', sm: '13px', md: '14px', lg: '16px', xl: '20px' },
  components: {
    TextInput: { defaultProps: { size: 'xs' } },
    Textarea: { defaultProps: { size: 'xs' } },
    NumberInput: { defaultProps: { size: 'xs' } },
    Autocomplete: { defaultProps: { size: 'xs' } },
    Select: { defaultProps: { size: 'xs' } },
    Tooltip: { defaultProps: { openDelay: 300, withArrow: true, events: { hover: true, focus: true, touch: false } } },
    // The page has one banner: the head of a dialog is none.
    Modal: { defaultProps: { attributes: { header: { role: 'presentation' } } } },
    Menu: { defaultProps: { shadow: 'md', position: 'bottom-start' } },
  },
});

/** Colours of states. Each has a contrast of 4.5 : 1 on the page and on a row that is hovered. */
export const variables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--page': '#f7f8fa',
    '--surface': '#ffffff',
    '--raised': '#f1f3f5',
    '--line': '#dfe3e8',
    '--text': '#1a1f27',
    '--quiet': '#57606d',
    '--accent': '#1c5fc4',
    '--accent-soft': '#e4eefc',
    '--queued': '#4a5f78',
    '--starting': '#1c5fc4',
    '--running': '#1c5fc4',
    '--warning': '#8f5200',
    '--suspended': '#5a6472',
    '--succeeded': '#1a7034',
    '--failed': '#c0232c',
    '--failed-soft': '#fdecec',
    '--warning-soft': '#fdf3e1',
    '--mantine-color-dimmed': '#57606d',
    '--mantine-color-placeholder': '#6b7480',
    '--mantine-color-anchor': '#1c5fc4',
  },
  dark: {
    '--page': '#101317',
    '--surface': '#171b21',
    '--raised': '#1f252d',
    '--line': '#2d343e',
    '--text': '#e4e8ee',
    '--quiet': '#9da7b4',
    '--accent': '#6ea8fe',
    '--accent-soft': '#1b2b45',
    '--queued': '#a0b3ca',
    '--starting': '#6ea8fe',
    '--running': '#6ea8fe',
    '--warning': '#f0ad4e',
    '--suspended': '#a5afbc',
    '--succeeded': '#57c97b',
    '--failed': '#ff7b81',
    '--failed-soft': '#3a1d20',
    '--warning-soft': '#35291a',
    '--mantine-color-body': '#101317',
    '--mantine-color-text': '#e4e8ee',
    '--mantine-color-dimmed': '#9da7b4',
    '--mantine-color-placeholder': '#8b95a2',
    '--mantine-color-anchor': '#6ea8fe',
    '--mantine-color-default': '#171b21',
    '--mantine-color-default-border': '#3a434f',
    '--mantine-color-default-hover': '#1f252d',
  },
});
