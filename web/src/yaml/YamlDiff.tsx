import { yaml } from '@codemirror/lang-yaml';
import { unifiedMergeView } from '@codemirror/merge';
import { EditorState } from '@codemirror/state';
import { EditorView, lineNumbers } from '@codemirror/view';
import { useEffect, useRef } from 'react';
import { look } from './YamlEditor';

interface Props {
  readonly before: string;
  readonly after: string;
  readonly label: string;
  /** `$` stands for their number. */
  readonly unchanged: string;
}

/** What is different, in one text: removed lines above the lines that took their place. */
export function YamlDiff({ before, after, label, unchanged }: Props) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (host.current === null) return;
    const view = new EditorView({
      parent: host.current,
      state: EditorState.create({
        doc: after,
        extensions: [
          lineNumbers(),
          yaml(),
          unifiedMergeView({ original: before, mergeControls: false, collapseUnchanged: { margin: 3, minSize: 6 } }),
          EditorState.readOnly.of(true),
          EditorState.phrases.of({ '$ unchanged lines': unchanged }),
          EditorView.contentAttributes.of({ 'aria-label': label, 'aria-readonly': 'true' }),
          look,
        ],
      }),
    });
    view.scrollDOM.tabIndex = 0;
    return () => view.destroy();
  }, [before, after, label, unchanged]);
  return <div ref={host} className="yaml" />;
}
