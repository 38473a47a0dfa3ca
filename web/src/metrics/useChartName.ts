import { useTranslation } from 'react-i18next';
import { type Chart, USAGE_NAMES } from './charts';

/** The name of what is measured in the language of the page; what a program prints keeps its name. */
export function useChartName(chart: Chart): string {
  const { t } = useTranslation();
  const known = USAGE_NAMES.find((name) => name === chart.name);
  return known && !chart.guessed ? t(`usage.${known}`) : chart.name;
}
