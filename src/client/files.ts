import { type Connection, type Http, type SignalOption, toPathAddress, toQuery } from './http.ts';
import type { FileChangePage, FilePage, SessionFile } from './types.ts';

/** The requested page: the cursor of the page before, and the most entries. */
export interface FilePageOptions extends SignalOption {
	readonly cursor?: string;
	readonly limit?: number;
}

/** The methods for the files of a session. */
export function createFileMethods(http: Http) {
	async function take<T>({ response, silence }: Connection, read: (response: Response) => Promise<T>): Promise<T> {
		try {
			return await read(response);
		} finally {
			silence.end();
		}
	}

	return {
		/** Lists the files of a session, a page at a time, sorted by path. */
		listFiles: (id: string, { signal, ...page }: FilePageOptions = {}): Promise<FilePage> =>
			http.json(`${toPath(id, 'files')}${toQuery(page)}`, { signal }),

		/** Reads a file. */
		readFile: async (id: string, path: string, { signal }: SignalOption = {}): Promise<Blob> =>
			http.retry(
				async () => take(await http.open(toFilePath(id, path), { signal }), (response) => response.blob()),
				signal,
			),

		/** Writes a file. What stands at its path is replaced. */
		writeFile: async (
			id: string,
			path: string,
			content: string | Blob | Uint8Array<ArrayBuffer>,
			{ signal }: SignalOption = {},
		): Promise<SessionFile> => http.json(toFilePath(id, path), { method: 'PUT', content, signal }),

		deleteFile: async (id: string, path: string, { signal }: SignalOption = {}): Promise<void> =>
			http.retry(
				async () => take(await http.open(toFilePath(id, path), { method: 'DELETE', signal }), async () => {}),
				signal,
			),

		/** Lists what changed in the files, a page at a time, the newest first. */
		listChanges: (id: string, { signal, ...page }: FilePageOptions = {}): Promise<FileChangePage> =>
			http.json(`${toPath(id, 'changes')}${toQuery(page)}`, { signal }),
	};
}

function toPath(id: string, rest: string): string {
	return `/v1/sessions/${encodeURIComponent(id)}/${rest}`;
}

function toFilePath(id: string, path: string): string {
	return toPath(id, `files/${toPathAddress(path)}`);
}
