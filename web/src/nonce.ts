import { setNonce } from 'get-nonce';

/** The nonce of the Content-Security-Policy, which style elements need. Browsers hide the attribute, not the property. */
export function styleNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';
}

// The library that locks scrolling behind dialogs adds a style element, too.
setNonce(styleNonce());
