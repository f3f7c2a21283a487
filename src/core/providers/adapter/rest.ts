/** The most bytes of the rest of an answer. */
const mostBytes = 65_536;

/** The most milliseconds that its end may take. */
const mostMs = 1_000;

/**
 * Reads an answer of which all is known to its end, so that its connection can serve the next request. Nobody has to wait
 * for it, and it never rejects. Closes the connection if the rest is long or late.
 */
export async function readRest(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
	const close = (): void => void reader.cancel().catch(() => {});
	const timer = setTimeout(close, mostMs);
	try {
		for (let bytes = 0; bytes <= mostBytes; ) {
			const { value, done } = await reader.read();
			if (done) return;
			bytes += value.byteLength;
		}
		close();
	} catch {
		// The connection was lost, and what was needed came before.
	} finally {
		clearTimeout(timer);
	}
}
