/** Waits between the attempts, in milliseconds. A change of the network interrupts requests for less than their sum. */
export const WAITS: readonly number[] = [200, 600, 1500];

/** Calls again what fails with an error that may pass, after each of the waits. The last error is thrown. */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  mayPass: (error: unknown) => boolean,
  signal?: AbortSignal,
  waits: readonly number[] = WAITS,
): Promise<T> {
  for (const wait of waits) {
    try {
      return await attempt();
    } catch (error) {
      if (!mayPass(error) || signal?.aborted) throw error;
    }
    await pause(wait, signal);
  }
  return attempt();
}

/** Ends early if the request is not wanted any more: the next attempt then fails by itself. */
function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
