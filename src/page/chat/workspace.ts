/** The files of a chat, which a person can open and download, and the changes of the files with diffs. */

import { ClientError } from '../../client/error.ts';
import { say } from '../../client/say.ts';
import type { SessionClient } from '../../client/sessions.ts';
import type { FileChange, FilePage, SessionFile } from '../../client/types.ts';
import { describeSize } from '../../client/words.ts';
import { createDiff } from '../parts/diff.ts';
import { button, configure, element, save, withoutTurns } from '../parts/element.ts';
import { createRefresh, type Visit } from '../parts/live.ts';
import type { PaneTab } from '../parts/pane-tab.ts';
import type { Surroundings } from './surroundings.ts';

const mostFiles = 500;
const mostChanges = 50;

/** Shows the files in a tab, which is hidden while there are no files. Changes are read only while the tab is open. */
export function createWorkspaceView(
	tab: PaneTab,
	client: SessionClient,
	readVisit: () => Visit | undefined,
	createFileView: Surroundings['createFileView'],
) {
	const note = element('p', 'side-note');
	const files = element('ul', 'file-list');
	const changes = element('div', 'changes');
	const body = element('div', 'lists', note, files, changes);
	const opened = element('div');
	tab.panel.append(body, opened);

	function notify(text: string) {
		note.textContent = withoutTurns(text);
		note.hidden = text === '';
	}

	const refresh = createRefresh(async () => {
		const visit = readVisit();
		if (visit === undefined) return;
		const { id, signal } = visit;
		try {
			const page = await client.listFiles(id, { limit: mostFiles, signal });
			const changed = tab.isOpen ? (await client.listChanges(id, { limit: mostChanges, signal })).changes : undefined;
			if (!signal.aborted) show(page, changed);
		} catch (error) {
			if (!signal.aborted && error instanceof ClientError)
				notify(say('The files could not be read: {why}', { why: error.message }));
		}
	});

	function show(page: FilePage, changed?: FileChange[]) {
		const isMore = page.cursor !== undefined;
		const bytes = page.files.reduce((sum, { size }) => sum + size, 0);
		if (page.files.length > 0) tab.isShown = true;
		tab.brief.textContent = `${page.files.length}${isMore ? say(' and more') : ''}, ${describeSize(bytes)}`;
		notify(
			isMore
				? say('These are the first {mostFiles} files.', { mostFiles })
				: page.files.length === 0
					? say('No files.')
					: '',
		);
		files.replaceChildren(
			...page.files.map((file) =>
				createRow(file, createFileView && (() => void openFile(file.path)), () => void download(file.path)),
			),
		);
		if (changed === undefined) return;
		const open = new Set([...changes.querySelectorAll<HTMLElement>('[open]')].map(({ dataset }) => dataset.id));
		changes.replaceChildren(...changed.map((change) => createChange(change, open.has(change.id))));
	}

	function close(): void {
		const path = opened.querySelector('.file-head .path')?.textContent;
		opened.replaceChildren();
		body.hidden = false;
		for (const row of files.querySelectorAll<HTMLButtonElement>('button.path'))
			if (row.textContent === path) row.focus();
	}

	const { open: openFile, download } = createFileReader({
		...{ client, readVisit, createFileView, onClose: close, onFailure: notify },
		onOpen: (view) => {
			opened.replaceChildren(view);
			body.hidden = true;
			view.querySelector('button')?.focus();
		},
	});

	tab.onToggle = (isOpen) => {
		if (isOpen) void refresh();
	};

	return {
		refresh,
		clear() {
			tab.isShown = false;
			opened.replaceChildren();
			body.hidden = false;
			files.replaceChildren();
			changes.replaceChildren();
			notify('');
		},
	};
}

interface FileReaderOptions {
	readonly client: SessionClient;
	readonly readVisit: () => Visit | undefined;
	readonly createFileView: Surroundings['createFileView'];
	readonly onOpen: (view: HTMLElement) => void;
	/** Shows the list again, with the focus on the file that was open. */
	readonly onClose: () => void;
	readonly onFailure: (words: string) => void;
}

function createFileReader(options: FileReaderOptions) {
	const { client, readVisit, createFileView, onOpen, onClose, onFailure } = options;
	/** Reads a file, and passes it to `use`. */
	async function read(path: string, use: (content: Blob, visit: Visit) => Promise<void> | void): Promise<void> {
		const visit = readVisit();
		if (visit === undefined) return;
		const { id, signal } = visit;
		try {
			await use(await client.readFile(id, path, { signal }), visit);
		} catch (error) {
			if (!signal.aborted && error instanceof ClientError) onFailure(`${path}: ${error.message}`);
		}
	}

	const download = (path: string) => read(path, (content) => save(path.slice(path.lastIndexOf('/') + 1), content));
	const open = (path: string) =>
		read(path, async (content, { id, signal }) => {
			const page = await client.listChanges(id, { limit: mostChanges, signal });
			const own = page.changes.filter((change) => isOfFile(change, path));
			const readText = (name: string) =>
				client.readFile(id, name, { signal }).then(
					(file) => file.text(),
					() => undefined,
				);
			const view = await createFileView?.({
				...{ path, content, readText, onBack: onClose, onDownload: () => void download(path) },
				changes: own.map((change, at) => createChange(change, at === 0)),
			});
			if (!signal.aborted && view !== undefined) onOpen(view);
		});
	return { open, download };
}

function createRow({ path, size }: SessionFile, onOpen: (() => void) | undefined, onDownload: () => void): HTMLElement {
	const get = configure(button('download', say('Download'), onDownload), {
		ariaLabel: say('Download {path}', { path }),
	});
	const name = onOpen === undefined ? element('span', 'path', path) : button('path', path, onOpen);
	return element('li', 'file-row', name, element('span', 'size', describeSize(size)), get);
}

function createChange({ id, path, kind, from, at, callId, diff }: FileChange, isOpen: boolean): HTMLElement {
	const name = from === undefined ? path : say('{from} to {path}', { from, path });
	const who = element('span', 'who', callId === undefined ? say('by a person') : '');
	const time = element('time', 'size', new Date(at).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' }));
	time.dateTime = at;
	const line = element('summary', '', element('b', '', say(kind)), element('span', 'path', name), who, time);
	const shown =
		diff === undefined
			? element('p', 'side-note', say('No diff: it is no text, or too long.'))
			: createDiff(diff, { isNamed: true });
	const root = element('details', 'change', line, shown);
	root.dataset.id = id;
	root.open = isOpen;
	return root;
}

/** Whether a change is one of this file, also before it got another name. */
function isOfFile({ path, from }: FileChange, file: string): boolean {
	return path === file || from === file;
}
