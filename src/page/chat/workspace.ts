/** The files of a chat with their sizes and download buttons, and their changes with diffs. */

import { ClientError } from '../../client/error.ts';
import type { SessionClient } from '../../client/sessions.ts';
import type { FileChange, SessionFile } from '../../client/types.ts';
import { describeSize } from '../../client/words.ts';
import { createDiff } from '../parts/diff.ts';
import { button, element, save, withoutTurns } from '../parts/element.ts';

/** Files and changes that are shown. */
const mostFiles = 500;
const mostChanges = 50;

export type FileClient = Pick<SessionClient, 'listFiles' | 'listChanges' | 'readFile'>;

/** Shows files in `root`, which is hidden until there are some. Changes are read while it is open. */
export function createWorkspaceView(root: HTMLDetailsElement, client: FileClient) {
	const summary = element('span', 'brief');
	const note = element('p', 'side-note');
	const files = element('ul', 'file-list');
	const changes = element('div', 'changes');
	const body = element('div', 'lists', note, files, changes);
	root.replaceChildren(element('summary', '', element('b', '', 'Files'), summary), body);

	let session: { readonly id: string; readonly signal: AbortSignal } | undefined;
	let isReading = false;
	let isStale = false;

	function notify(text: string) {
		note.textContent = withoutTurns(text);
		note.hidden = text === '';
	}

	/** Reads again. Further calls during a read lead to one more read. */
	async function refresh() {
		isStale = true;
		if (isReading) return;
		isReading = true;
		while (isStale && session !== undefined) {
			isStale = false;
			await read(session);
		}
		isReading = false;
	}

	async function read({ id, signal }: { readonly id: string; readonly signal: AbortSignal }) {
		try {
			const page = await client.listFiles(id, { limit: mostFiles, signal });
			const changed = root.open ? (await client.listChanges(id, { limit: mostChanges, signal })).changes : undefined;
			if (!signal.aborted) show(page, changed);
		} catch (error) {
			if (!signal.aborted && error instanceof ClientError) notify(`The files could not be read: ${error.message}`);
		}
	}

	function show(page: { readonly files: readonly SessionFile[]; readonly cursor?: string }, changed?: FileChange[]) {
		const isMore = page.cursor !== undefined;
		const bytes = page.files.reduce((sum, { size }) => sum + size, 0);
		if (page.files.length > 0) root.hidden = false;
		summary.textContent = `${page.files.length}${isMore ? ' and more' : ''}, ${describeSize(bytes)}`;
		notify(isMore ? `These are the first ${mostFiles} files.` : page.files.length === 0 ? 'No files.' : '');
		files.replaceChildren(...page.files.map((file) => createRow(file, () => void download(file.path))));
		if (changed === undefined) return;
		const open = new Set([...changes.querySelectorAll('details')].flatMap((one) => (one.open ? [one.dataset.id] : [])));
		changes.replaceChildren(...changed.map((change) => createChange(change, open.has(change.id))));
	}

	async function download(path: string) {
		if (session === undefined) return;
		const { id, signal } = session;
		try {
			save(path.slice(path.lastIndexOf('/') + 1), await client.readFile(id, path, { signal }));
		} catch (error) {
			if (!signal.aborted && error instanceof ClientError) notify(`${path}: ${error.message}`);
		}
	}

	function clear() {
		session = undefined;
		files.replaceChildren();
		changes.replaceChildren();
		notify('');
		root.hidden = true;
		root.open = false;
	}
	clear();
	root.addEventListener('toggle', () => {
		if (root.open) void refresh();
	});

	return {
		clear,
		refresh,
		/** `refresh` reads the files of this session from now on. */
		use(id: string, signal: AbortSignal) {
			session = { id, signal };
		},
	};
}

function createRow({ path, size }: SessionFile, onDownload: () => void): HTMLElement {
	const get = button('download', 'Download', onDownload);
	get.setAttribute('aria-label', `Download ${path}`);
	return element('li', 'file-row', element('span', 'path', path), element('span', 'size', describeSize(size)), get);
}

function createChange({ id, path, kind, from, at, callId, diff }: FileChange, isOpen: boolean): HTMLElement {
	const name = from === undefined ? path : `${from} to ${path}`;
	const who = element('span', 'who', callId === undefined ? 'by a person' : '');
	const time = element('time', 'size', new Date(at).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' }));
	time.dateTime = at;
	const line = element('summary', '', element('b', '', kind), element('span', 'path', name), who, time);
	const shown =
		diff === undefined
			? element('p', 'side-note', 'No diff: it is no text, or too long.')
			: createDiff(diff, { isNamed: true });
	const root = element('details', 'change', line, shown);
	root.dataset.id = id;
	root.open = isOpen;
	return root;
}
