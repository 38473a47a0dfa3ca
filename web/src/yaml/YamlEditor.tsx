import { yaml } from '@codemirror/lang-yaml';
import { foldGutter, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import { EditorState } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useRef } from 'react';
import { styleNonce } from '../nonce';

const highlighting = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--yaml-key)' },
  { tag: tags.string, color: 'var(--yaml-string)' },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: 'var(--yaml-number)' },
  { tag: tags.comment, color: 'var(--quiet)', fontStyle: 'italic' },
]);

export const look = [
  syntaxHighlighting(highlighting),
  EditorView.cspNonce.of(styleNonce()),
  EditorView.theme({
    '&': { color: 'var(--text)', backgroundColor: 'var(--surface)', fontSize: '13px' },
    '.cm-content': { fontFamily: 'var(--mantine-font-family-monospace)', caretColor: 'var(--text)' },
    '.cm-gutters': { backgroundColor: 'var(--surface)', color: 'var(--quiet)', borderRight: '1px solid var(--line)' },
    '.cm-cursor': { borderLeftColor: 'var(--text)' },
    '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': {
      backgroundColor: 'var(--accent-soft) !important',
    },
    '.cm-panels': { backgroundColor: 'var(--raised)', color: 'var(--text)' },
    '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--raised)' },
  }),
];

interface Props {
  readonly text: string;
  readonly label: string;
}

/** YAML to read: folding, search with Ctrl+F, selection. */
export function YamlEditor({ text, label }: Props) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (host.current === null) return;
    const view = new EditorView({
      parent: host.current,
      state: EditorState.create({
        doc: text,
        extensions: [
          lineNumbers(),
          foldGutter(),
          yaml(),
          search({ top: true }),
          highlightSelectionMatches(),
          keymap.of(searchKeymap),
          EditorState.readOnly.of(true),
          EditorView.contentAttributes.of({ 'aria-label': label, 'aria-readonly': 'true' }),
          look,
        ],
      }),
    });
    // The keyboard scrolls what is only read.
    view.scrollDOM.tabIndex = 0;
    return () => view.destroy();
  }, [text, label]);
  return <div ref={host} className="yaml" />;
}
