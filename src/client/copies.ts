import { ClientError } from './error.ts';
import { createIdempotencyKey, type Http, isWorthRetry, type SignalOption, toQuery } from './http.ts';
import type { ExportedSession, NewSession } from './types.ts';

export interface ImportOptions extends SignalOption {
	/** Called after each part with the number of bytes that the server has stored. */
	readonly onProgress?: (bytes: number) => void;
}

/** The length of a part of an import in bytes. Cloudflare takes 100 MB in a request. */
const partLength = 16_000_000;

/** Copies of sessions: forks, exports and imports (docs/sessions.md, "Fork, export and import"). */
export function createCopyMethods(http: Http) {
	const toExport = (id: string): string => `/v1/sessions/${encodeURIComponent(id)}/export`;

	/**
	 * Exports a session of any size as lines of JSON. Yields about a megabyte of whole lines at a time. A connection that
	 * breaks is opened again where the last part ended.
	 */
	async function* exportLines(id: string, { signal }: SignalOption = {}): AsyncGenerator<string> {
		let cursor = 'start';
		for (let failures = 0; ; ) {
			try {
				for await (const part of readParts(`${toExport(id)}${toQuery({ cursor })}`, signal)) {
					yield part.lines;
					if (part.cursor === undefined) return;
					({ cursor } = part);
					failures = 0;
				}
			} catch (error) {
				failures += 1;
				if (failures > http.streamRetries || !isWorthRetry(error)) throw error;
				await http.pause(failures, error, signal);
			}
		}
	}

	/** Reads lines up to each cursor, and to the end, where the part has no cursor. */
	async function* readParts(path: string, signal: AbortSignal | undefined) {
		const { response, silence } = await http.open(path, { headers: { accept: 'application/x-ndjson' }, signal });
		try {
			let [lines, open] = ['', ''];
			for await (const text of readText(response)) {
				silence.begin();
				const whole = (open + text).split('\n');
				open = whole.pop() ?? '';
				for (const line of whole) {
					const [, cursor] = /^\{"cursor":"([^"]+)"\}$/.exec(line) ?? [];
					if (cursor === undefined) lines += `${line}\n`;
					else {
						yield { lines, cursor };
						lines = '';
					}
				}
			}
			yield { lines: lines + open };
		} catch (cause) {
			signal?.throwIfAborted();
			throw new ClientError('connection_lost', 'The export broke off.', { cause });
		} finally {
			silence.end();
		}
	}

	return {
		/** Copies a session. With `at`, the id of a message, the copy has the history up to there. */
		forkSession(id: string, { at, signal }: SignalOption & { readonly at?: string } = {}): Promise<NewSession> {
			const path = `/v1/sessions/${encodeURIComponent(id)}/fork`;
			return http.json(path, { method: 'POST', headers: createIdempotencyKey(), body: { at }, signal });
		},

		/** Exports a complete session as one value in memory. */
		exportSession(id: string, { signal }: SignalOption = {}): Promise<ExportedSession> {
			return http.json(toExport(id), { signal });
		},

		exportLines,

		/** Makes a session from an export of this server or another server. */
		importSession(exported: ExportedSession, { signal }: SignalOption = {}): Promise<NewSession> {
			const headers = createIdempotencyKey();
			return http.json('/v1/sessions/import', { method: 'POST', headers, body: exported, signal });
		},

		/** Makes a session from the lines of an export of any size. Sends them in parts. */
		async importLines(lines: Blob, { signal, onProgress }: ImportOptions = {}): Promise<NewSession> {
			const key = createIdempotencyKey();
			for (let offset = 0; ; ) {
				const content = lines.slice(offset, offset + partLength);
				const range = `bytes ${offset}-${offset + content.size - 1}/${lines.size}`;
				const headers = { ...key, 'content-type': 'application/x-ndjson', 'content-range': range };
				const request = { method: 'POST', headers, content, signal } as const;
				const answer = await http
					.json<NewSession | { readonly offset: number }>('/v1/sessions/import', request)
					.catch(findOffset);
				if (!('offset' in answer)) return answer;
				if (answer.offset === offset) throw new ClientError('invalid_request', 'A line of the export is too long.');
				({ offset } = answer);
				onProgress?.(offset);
			}
		},
	};
}

/** Where the next part begins, after the answer to a part was lost and the part came twice. */
function findOffset(error: unknown): { readonly offset: number } {
	const offset = error instanceof ClientError && error.code === 'conflict' ? error.data?.offset : undefined;
	if (typeof offset !== 'number') throw error;
	return { offset };
}

async function* readText(response: Response): AsyncGenerator<string> {
	const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
	try {
		for (;;) {
			const { value } = (await reader?.read()) ?? {};
			if (value === undefined) return;
			yield value;
		}
	} finally {
		void reader?.cancel().catch(() => {});
	}
}
