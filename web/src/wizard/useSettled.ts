import { useEffect, useState } from 'react';

const PAUSE = 500;

/** The text as it was when the user last paused. */
export function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(text), PAUSE);
    return () => window.clearTimeout(timer);
  }, [text]);
  return settled;
}
