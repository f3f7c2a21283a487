import type { ToolContext } from '../../tool/index.ts';
import type { WebDocument } from './document.ts';

/** Documents that are kept. */
const mostDocuments = 8;
/** Characters of all that is kept. */
const mostCharacters = 4_000_000;
const longestMs = 300_000;

interface Kept {
	readonly document: WebDocument;
	readonly at: number;
	readonly fetch: ToolContext['fetch'];
}

/**
 * Keeps documents for some minutes, so that their next pages need not be fetched again. A session sees what it read
 * itself, and what goes another way over the network is another document.
 */
export class DocumentMemory {
	readonly #kept = new Map<string, Kept>();

	recall(url: string, context: ToolContext): WebDocument | undefined {
		const kept = this.#kept.get(toKey(url, context));
		return kept !== undefined && kept.fetch === context.fetch && Date.now() - kept.at < longestMs
			? kept.document
			: undefined;
	}

	keep(url: string, document: WebDocument, context: ToolContext): void {
		const key = toKey(url, context);
		this.#kept.delete(key);
		this.#kept.set(key, { document, at: Date.now(), fetch: context.fetch });
		let characters = [...this.#kept.values()].reduce((sum, kept) => sum + kept.document.text.length, 0);
		for (const [oldest, kept] of this.#kept) {
			if (this.#kept.size <= mostDocuments && characters <= mostCharacters) return;
			this.#kept.delete(oldest);
			characters -= kept.document.text.length;
		}
	}
}

function toKey(url: string, { sessionId = '' }: ToolContext): string {
	return JSON.stringify([sessionId, url]);
}
