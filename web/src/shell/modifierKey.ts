/** How the keyboards of this machine name the key that begins a shortcut: Mantine's `mod` is ⌘ on Apple's, Ctrl on others. */
export function withModifier(key: string, platform: string = navigator.platform): string {
  return /^(Mac|iPhone|iPad|iPod)/.test(platform) ? `⌘${key}` : `Ctrl+${key}`;
}
