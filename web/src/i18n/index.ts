import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';
import en from './en.json';
import { loadSentences } from './say';

export const LANGUAGES = ['en', 'zh-CN'] as const;
export type Language = (typeof LANGUAGES)[number];
const KEY = 'traincrew.language';

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'translation';
    resources: { translation: typeof en };
    returnNull: false;
  }
}

function preferred(): Language {
  const kept = localStorage.getItem(KEY);
  const wanted = [kept, ...navigator.languages].find((each) => each?.startsWith('zh') || each?.startsWith('en'));
  return wanted?.startsWith('zh') ? 'zh-CN' : 'en';
}

/** English is part of the first file: it is what remains if another one cannot be loaded. */
async function load(language: Language): Promise<void> {
  if (language === 'zh-CN')
    i18next.addResourceBundle(language, 'translation', (await import('./zh-CN.json')).default, true, true);
  await loadSentences(language);
}

export async function startTranslations(): Promise<void> {
  await i18next.use(initReactI18next).init({
    lng: 'en',
    fallbackLng: 'en',
    resources: { en: { translation: en } },
    // React escapes text by itself.
    interpolation: { escapeValue: false },
  });
  await show(preferred());
}

async function show(language: Language): Promise<void> {
  await load(language);
  document.documentElement.lang = language;
  await i18next.changeLanguage(language);
}

export function setLanguage(language: Language): void {
  localStorage.setItem(KEY, language);
  void show(language);
}
