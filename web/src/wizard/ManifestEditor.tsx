import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { useEffect, useRef } from 'react';
import { look } from '../yaml/YamlEditor';

export interface Mark {
  readonly line: number;
  readonly message: string;
  readonly level: 'error' | 'warning';
}

interface Props {
  readonly text: string;
  readonly label: string;
  readonly marks: readonly Mark[];
  readonly onChange: (text: string) => void;
}

/** YAML to write. Escape leaves the editor, so that Tab can indent. */
export function ManifestEditor({ text, label, marks, onChange }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const changed = useRef(onChange);
  changed.current = onChange;

  // biome-ignore lint/correctness/useExhaustiveDependencies: later texts come through the second effect.
  useEffect(() => {
    if (host.current === null) return;
    const editor = new EditorView({
      parent: host.current,
      state: EditorState.create({
        doc: text,
        extensions: [
          lineNumbers(),
          history(),
          yaml(),
          lintGutter(),
          keymap.of([{ key: 'Escape', run: leave }, ...defaultKeymap, ...historyKeymap, indentWithTab]),
          EditorView.contentAttributes.of({ 'aria-label': label }),
          EditorView.updateListener.of((update) => {
            if (
              update.docChanged &&
              update.transactions.some(
                (each) =>
                  each.isUserEvent('input') ||
                  each.isUserEvent('delete') ||
                  each.isUserEvent('undo') ||
                  each.isUserEvent('redo') ||
                  each.isUserEvent('move'),
              )
            )
              changed.current(update.state.doc.toString());
          }),
          look,
        ],
      }),
    });
    editor.scrollDOM.tabIndex = 0;
    view.current = editor;
    return () => editor.destroy();
  }, [label]);

  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const before = editor.state.doc.toString();
    if (before !== text) editor.dispatch({ changes: difference(before, text) });
  }, [text]);

  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const { doc } = editor.state;
    const diagnostics: Diagnostic[] = marks
      .filter((mark) => mark.line >= 1 && mark.line <= doc.lines)
      .map((mark) => ({
        from: doc.line(mark.line).from,
        to: doc.line(mark.line).to,
        severity: mark.level,
        message: mark.message,
      }));
    editor.dispatch(setDiagnostics(editor.state, diagnostics));
  }, [marks]);

  return <div ref={host} className="yaml manifest" />;
}

function leave(view: EditorView): boolean {
  view.contentDOM.blur();
  return true;
}

/** One replacement between the common beginning and the common end: the cursor and the view stay where they are. */
export function difference(before: string, after: string): { from: number; to: number; insert: string } {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < before.length - start && end < after.length - start && before.at(-1 - end) === after.at(-1 - end))
    end += 1;
  return { from: start, to: before.length - end, insert: after.slice(start, after.length - end) };
}
