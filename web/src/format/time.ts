/** Durations as kubectl writes them: two units at most. The same in every language. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return `${minutes}m${rest(seconds % 60, 's')}`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return `${hours}h${rest(minutes % 60, 'm')}`;
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  return days < 8 ? `${days}d${rest(hours % 24, 'h')}` : `${days}d`;
}

function rest(value: number, unit: string): string {
  return value === 0 ? '' : `${value}${unit}`;
}

export function since(time: string | null, now: number): string {
  return time === null ? '' : duration(now - Date.parse(time));
}

/** From start to end, or until now if there is no end. */
export function between(start: string | null, end: string | null, now: number): string {
  return start === null ? '' : duration((end === null ? now : Date.parse(end)) - Date.parse(start));
}

const LEAST_KNOWN = 0.02;

/** The time that is left if the rest goes on as what was done. Empty: too little is done to say. */
export function timeLeft(started: string | null, fraction: number, now: number): string {
  if (started === null || fraction < LEAST_KNOWN || fraction >= 1) return '';
  return duration(Math.round(((now - Date.parse(started)) * (1 - fraction)) / fraction));
}

const CLOCK = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const;
const DATE_AND_TIME = { dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23' } as const;

export function clock(time: string | number, language: string): string {
  return formatter(language, CLOCK).format(new Date(time));
}

export function dateAndTime(time: string | null, language: string): string {
  return time === null ? '' : formatter(language, DATE_AND_TIME).format(new Date(time));
}

const formatters = new Map<Intl.DateTimeFormatOptions, { language: string; format: Intl.DateTimeFormat }>();

/** To make a formatter takes a hundred times as long as to use it. */
function formatter(language: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const kept = formatters.get(options);
  if (kept?.language === language) return kept.format;
  const format = new Intl.DateTimeFormat(language, options);
  formatters.set(options, { language, format });
  return format;
}

/** `14:02:31.204` of a time with nanoseconds, in the time zone of the browser. */
export function clockOfLine(time: string): string {
  if (time === '') return '';
  const date = new Date(time);
  const two = (value: number) => String(value).padStart(2, '0');
  const milliseconds = String(date.getMilliseconds()).padStart(3, '0');
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${milliseconds}`;
}
