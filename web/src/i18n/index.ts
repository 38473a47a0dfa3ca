import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';
import en from './en.json';
import chinese from './zh-CN.json';

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

export async function startTranslations(): Promise<void> {
  await i18next.use(initReactI18next).init({
    lng: preferred(),
    fallbackLng: 'en',
    resources: { en: { translation: en }, 'zh-CN': { translation: chinese } },
    // React escapes text by itself.
    interpolation: { escapeValue: false },
  });
  document.documentElement.lang = i18next.language;
}

export function setLanguage(language: Language): void {
  localStorage.setItem(KEY, language);
  document.documentElement.lang = language;
  void i18next.changeLanguage(language);
}
