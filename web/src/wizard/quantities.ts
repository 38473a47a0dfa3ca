// Quantities of Kubernetes, as far as totals need them.

const FACTORS: Record<string, number> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
};

/** The number, or null if the text is no quantity. */
export function numberOf(quantity: unknown): number | null {
  const found = /^([0-9]+(?:\.[0-9]*)?(?:[eE][0-9]+)?)(n|u|m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$/.exec(
    String(quantity ?? '').trim(),
  );
  return found ? Number(found[1]) * (FACTORS[found[2] ?? ''] ?? 1) : null;
}

export function showNumber(resource: string, value: number): string {
  if (resource !== 'memory' && resource !== 'ephemeral-storage') return String(Math.round(value * 1000) / 1000);
  const unit = (['Ti', 'Gi', 'Mi', 'Ki'] as const).find((each) => value >= (FACTORS[each] ?? 1)) ?? '';
  return `${Math.round((value / (FACTORS[unit] ?? 1)) * 100) / 100}${unit}`;
}
