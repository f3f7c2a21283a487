/** The files of a chat with their sizes and download buttons, and the changes of the files with diffs. */

import { ClientError } from '../../client/error.ts';
import { say } from '../../client/say.ts';
import type { SessionClient } from '../../client/sessions.ts';
import type { FileChange, FilePage, SessionFile } from '../../client/types.ts';
import { describeSize } from '../../client/words.ts';
import { createDiff } from '../parts/diff.ts';
import { button, configure, element, save, withoutTurns } from '../parts/element.ts';
import { createRefresh, type Visit } from '../parts/live.ts';

const mostFiles = 500;
const mostChanges = 50;

/** Shows the files in `root`, which is hidden while there are no files. Changes are read only while `root` is open. */
export function createWorkspaceView(
	root: HTMLDetailsElement,
	client: SessionClient,
	readVisit: () => Visit | undefined,
) {
	const summary = element('span', 'brief');
	const note = element('p', 'side-note');
	const files = element('ul', 'file-list');
	const changes = element('div', 'changes');
	const body = element('div', 'lists', note, files, changes);
	root.replaceChildren(element('summary', '', element('b', '', say('Files')), summary), body);

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
			const changed = root.open ? (await client.listChanges(id, { limit: mostChanges, signal })).changes : undefined;
			if (!signal.aborted) show(page, changed);
		} catch (error) {
			if (!signal.aborted && error instanceof ClientError)
				notify(say('The files could not be read: {why}', { why: error.message }));
		}
	});

	function show(page: FilePage, changed?: FileChange[]) {
		const isMore = page.cursor !== undefined;
		const bytes = page.files.reduce((sum, { size }) => sum + size, 0);
		if (page.files.length > 0) root.hidden = false;
		summary.textContent = `${page.files.length}${isMore ? say(' and more') : ''}, ${describeSize(bytes)}`;
		notify(
			isMore
				? say('These are the first {mostFiles} files.', { mostFiles })
				: page.files.length === 0
					? say('No files.')
					: '',
		);
		files.replaceChildren(...page.files.map((file) => createRow(file, () => void download(file.path))));
		if (changed === undefined) return;
		const open = new Set([...changes.querySelectorAll<HTMLElement>('[open]')].map(({ dataset }) => dataset.id));
		changes.replaceChildren(...changed.map((change) => createChange(change, open.has(change.id))));
	}

	async function download(path: string) {
		const visit = readVisit();
		if (visit === undefined) return;
		const { id, signal } = visit;
		try {
			save(path.slice(path.lastIndexOf('/') + 1), await client.readFile(id, path, { signal }));
		} catch (error) {
			if (!signal.aborted && error instanceof ClientError) notify(`${path}: ${error.message}`);
		}
	}

	root.addEventListener('toggle', () => {
		if (root.open) void refresh();
	});

	return {
		refresh,
		clear() {
			files.replaceChildren();
			changes.replaceChildren();
			notify('');
		},
	};
}

function createRow({ path, size }: SessionFile, onDownload: () => void): HTMLElement {
	const get = configure(button('download', say('Download'), onDownload), {
		ariaLabel: say('Download {path}', { path }),
	});
	return element('li', 'file-row', element('span', 'path', path), element('span', 'size', describeSize(size)), get);
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
