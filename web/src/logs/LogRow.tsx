import { type CSSProperties, memo } from 'react';
import { useTranslation } from 'react-i18next';
import type { LogLine } from '../api/contract.gen';
import { clockOfLine } from '../format/time';
import { WarningIcon } from '../icons';
import type { ConsensusLine } from './consensus';
import { marked } from './marks';
import { type Style, terminalLine } from './terminalLine';

export const ROW = 20;

interface Props {
  readonly line: LogLine;
  readonly index: number;
  readonly color: number;
  readonly chosen: boolean;
  /** The keyboard is here. */
  readonly current: boolean;
  readonly matcher: RegExp | null;
  readonly onChoose: (index: number, extend: boolean) => void;
  /** The list gives the row its place. */
  readonly placed?: boolean;
}

/** One line. Its text becomes text nodes, never HTML. */
export const LogRow = memo(function LogRow({
  line,
  index,
  color,
  chosen,
  current,
  matcher,
  onChoose,
  placed = true,
}: Props) {
  const { t } = useTranslation();
  const level = line.level === 'error' || line.level === 'warning' ? ` ${line.level}` : '';
  return (
    <div
      className={`log-row${level}${chosen ? ' chosen' : ''}${current ? ' current' : ''}`}
      style={placed ? { top: index * ROW } : undefined}
      data-sequence={line.sequence}
    >
      <button
        type="button"
        className="log-time"
        tabIndex={-1}
        title={line.time}
        aria-label={t('logs.linkTo', { time: clockOfLine(line.time) })}
        onClick={(event) => onChoose(index, event.shiftKey)}
      >
        {clockOfLine(line.time) || '·'}
      </button>
      <Replicas line={line} color={color} />
      <span className="log-text">
        {marked(terminalLine(line.text), matcher).map((span, at) => (
          <span
            // biome-ignore lint/suspicious/noArrayIndexKey: spans have no identity but their place.
            key={at}
            className={classes(span.style, span.marked)}
            style={colors(span.style)}
          >
            {span.text}
          </span>
        ))}
        {line.bytes > 0 && <span className="tag">{t('logs.cut', { bytes: line.bytes })}</span>}
      </span>
    </div>
  );
});

/** One replica, or how many agree on the line. */
function Replicas({ line, color }: Pick<Props, 'line' | 'color'>) {
  const { t } = useTranslation();
  const replicas = 'replicas' in line ? (line as ConsensusLine).replicas : [line.replica];
  if (replicas.length > 1)
    return (
      <span className="log-replica agree" title={replicas.join(', ')}>
        {t('logs.agree', { count: replicas.length })}
      </span>
    );
  const odd = 'odd' in line && (line as ConsensusLine).odd;
  return (
    <span className={`log-replica rank-${color}`} title={odd ? t('logs.odd') : undefined}>
      {odd && <WarningIcon size={12} />}
      {line.replica}
    </span>
  );
}

function classes(style: Style, isMarked: boolean): string | undefined {
  const names: string[] = [];
  if (isMarked) names.push('log-match');
  if (style.bold) names.push('ansi-bold');
  if (style.dim) names.push('ansi-dim');
  if (style.italic) names.push('ansi-italic');
  if (style.underline) names.push('ansi-underline');
  return names.length > 0 ? names.join(' ') : undefined;
}

function colors(style: Style): CSSProperties | undefined {
  if (style.color === undefined && style.background === undefined) return undefined;
  return {
    ...(style.color === undefined ? {} : { color: cssColor(style.color) }),
    ...(style.background === undefined ? {} : { backgroundColor: cssColor(style.background) }),
  };
}

/** The 16 basic colours follow the theme; the other 240 are those of xterm. */
function cssColor(color: number | string): string {
  if (typeof color === 'string') return color;
  if (color < 16) return `var(--ansi-${color})`;
  if (color > 255) return 'inherit';
  if (color >= 232)
    return `rgb(${Array(3)
      .fill(8 + (color - 232) * 10)
      .join(' ')})`;
  const part = (value: number) => (value === 0 ? 0 : 55 + value * 40);
  const index = color - 16;
  return `rgb(${part(Math.floor(index / 36))} ${part(Math.floor(index / 6) % 6)} ${part(index % 6)})`;
}
