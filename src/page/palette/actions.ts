/** The actions that the palette offers, and the ways to open it. */

import type { Client } from '../../client/index.ts';
import { parseAddress } from '../parts/address.ts';
import { element, find, save } from '../parts/element.ts';
import { createPageIcon } from '../parts/page-icon.ts';
import type { Viewer } from '../parts/viewer.ts';
import type { Choice } from './palette.ts';

/** More words by which a search finds a panel. */
export const otherWords: Readonly<Record<string, string>> = {
	inbox: 'approvals',
	runs: 'runs',
	schedules: 'cron',
	servers: 'connectors',
	spending: 'costs budget money usage',
	team: 'people users keys',
};

/** Lists the actions that are possible where the page is. */
export function listActions(client: Client, viewer: Viewer, onConnect: () => void): readonly Choice[] {
	const { session } = parseAddress(location.hash);
	const press = (id: string) => () => find(id, HTMLButtonElement).click();
	const isThere = (id: string): boolean => !find(id, HTMLButtonElement).hidden;
	const anew: Choice = { title: 'New chat', icon: 'pen', run: () => find('#new', HTMLElement).click() };
	const others = [...listStaffActions(viewer, onConnect), ...listThemes()];
	if (session === undefined) return [anew, ...others];
	return [
		anew,
		...(isThere('#trace-open')
			? [{ title: 'Trace of this session', icon: 'trace', run: press('#trace-open') } as const]
			: []),
		...(isThere('#save-test')
			? [{ title: 'Save this session as a test', icon: 'test', run: press('#save-test') } as const]
			: []),
		{ title: 'Export this session', icon: 'download', run: () => void exportSession(client, session) },
		...others,
	];
}

function listStaffActions(viewer: Viewer, onConnect: () => void): readonly Choice[] {
	if (!viewer.may('manageSession')) return [];
	const openSchedules = (): void => {
		location.hash = '#/schedules';
	};
	return [
		{ title: 'Connect a model', words: 'provider api key', icon: 'plug', run: onConnect },
		{ title: 'Run a schedule now', words: 'schedules', icon: 'clock', run: openSchedules },
	];
}

/** Lists the themes that are not chosen. */
function listThemes(): readonly Choice[] {
	const fields = document.querySelectorAll<HTMLInputElement>('.themes input:not(:checked)');
	return [...fields].map((field) => ({
		title: `Theme: ${field.value}`,
		icon: 'theme',
		run: () => field.click(),
	}));
}

async function exportSession(client: Client, id: string): Promise<void> {
	const parts: Blob[] = [];
	for await (const lines of client.exportLines(id)) parts.push(new Blob([lines]));
	save(`session-${id.slice(0, 12)}.ndjson`, new Blob(parts, { type: 'application/x-ndjson' }));
}

const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

/** Opens the palette by its button and by Ctrl+K, or ⌘K on a Mac. */
export function addPaletteKeys(open: () => void): void {
	const opener = find('#palette-open', HTMLButtonElement);
	opener.prepend(createPageIcon('search'));
	opener.append(element('kbd', '', isMac ? '⌘K' : 'Ctrl K'));
	opener.ariaKeyShortcuts = isMac ? 'Meta+K' : 'Control+K';
	opener.addEventListener('click', open);
	addEventListener('keydown', (event) => {
		const isAsked = event.key.toLowerCase() === 'k' && (isMac ? event.metaKey : event.ctrlKey);
		if (!isAsked || event.altKey || event.shiftKey) return;
		event.preventDefault();
		open();
	});
}
