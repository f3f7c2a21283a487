/**
 * The pane beside a conversation. Each tab has a button below the conversation, too, which says in short what is in it. The
 * pane is hidden while its chosen tab is empty. On narrow screens it is a sheet over the conversation.
 */

import { say } from '../../client/say.ts';
import { button, configure, element, find, type Root } from '../parts/element.ts';
import { createIconButton } from '../parts/icon.ts';
import type { PaneTab } from '../parts/pane-tab.ts';
import type { Surroundings } from './surroundings.ts';

export interface Pane {
	/** `hasChip`: whether the tab has a button below the conversation. */
	readonly add: (id: string, title: string, options?: { readonly hasChip?: boolean }) => PaneTab;
	/** Closes the pane where it covers the conversation. */
	readonly uncover: () => void;
}

interface Entry {
	readonly id: string;
	readonly tab: HTMLButtonElement;
	readonly chip: HTMLButtonElement;
	readonly panel: HTMLElement;
	isShown: boolean;
	wasOpen: boolean;
	onToggle: (isOpen: boolean) => void;
}

/** The least width at which the pane has its place beside the conversation (chat.css). */
const wideQuery = '(width >= 64rem)';
const storageName = 'runlet-pane';

/** With `createSplitter`, the browser remembers the open tab, until its own tab is closed, and the width of the pane. */
export function createPane(root: Root, { createSplitter }: Pick<Surroundings, 'createSplitter'>): Pane {
	const keeps = createSplitter !== undefined;
	const pane = find('#pane', HTMLElement, root);
	const bar = find('#pane-bar', HTMLElement, root);
	const entries: Entry[] = [];
	const tabs = configure(element('div', 'pane-tabs'), { role: 'tablist', ariaLabel: say('What the chat works on') });
	let chosen = keeps ? (sessionStorage.getItem(storageName) ?? '') : '';
	let wasClosed = false;
	/** What had the focus before the pane was opened. */
	let opener: Element | null = null;
	const close = createIconButton('close', say('Close'), () => choose('', true));
	if (createSplitter !== undefined) pane.append(createSplitter(pane));
	pane.append(element('header', '', tabs, close));

	function update(): void {
		const open = entries.find(({ id, isShown }) => id === chosen && isShown);
		pane.hidden = open === undefined;
		bar.hidden = !entries.some(({ isShown, chip }) => isShown && bar.contains(chip));
		for (const entry of entries) {
			const isOpen = entry === open;
			entry.tab.hidden = !entry.isShown;
			entry.tab.ariaSelected = `${isOpen}`;
			entry.tab.tabIndex = isOpen ? 0 : -1;
			entry.chip.parentElement?.toggleAttribute('hidden', !entry.isShown);
			entry.chip.ariaExpanded = `${isOpen}`;
			entry.panel.hidden = !isOpen;
		}
		// The tab that closes is told first, so that two tabs are never open.
		for (const isOpen of [false, true])
			for (const entry of entries.filter((one) => one.wasOpen !== (one === open) && (one === open) === isOpen)) {
				entry.wasOpen = isOpen;
				entry.onToggle(isOpen);
			}
	}

	/** `byPerson`: whether the focus follows, and the choice is kept. */
	function choose(id: string, byPerson: boolean): void {
		if (byPerson && pane.hidden) opener = root.activeElement;
		chosen = id;
		update();
		if (!byPerson) return;
		wasClosed = id === '';
		if (keeps) sessionStorage.setItem(storageName, id);
		const next = entries.find((entry) => entry.id === id)?.tab ?? opener ?? root.querySelector('#text');
		if (next instanceof HTMLElement) next.focus();
	}

	addKeys(pane, tabs, (id) => choose(id, true));

	const add: Pane['add'] = (id, title, { hasChip = true } = {}) => {
		const toggle = (): void => choose(chosen === id ? '' : id, true);
		const { entry, brief } = createEntry(id, title, { onTab: () => choose(id, true), onChip: toggle });
		const { tab, chip, panel } = entry;
		entries.push(entry);
		tabs.append(tab);
		if (hasChip) bar.append(element('li', '', chip));
		pane.append(panel);
		update();
		return {
			...{ panel, brief, toggle },
			get isShown() {
				return entry.isShown;
			},
			set isShown(isShown) {
				entry.isShown = isShown;
				update();
			},
			get isOpen() {
				return entry.wasOpen;
			},
			get onToggle() {
				return entry.onToggle;
			},
			set onToggle(onToggle) {
				entry.onToggle = onToggle;
			},
			suggest() {
				if (!wasClosed && pane.hidden && keeps && matchMedia(wideQuery).matches) choose(id, false);
			},
		};
	};

	const uncover = (): void => {
		if (matchMedia(wideQuery).matches) return;
		sessionStorage.removeItem(storageName);
		choose('', false);
	};
	return { add, uncover };
}

function createEntry(id: string, title: string, { onTab, onChip }: Readonly<Record<'onTab' | 'onChip', () => void>>) {
	const panel = configure(element('div', 'pane-panel'), { id, role: 'tabpanel', tabIndex: 0, hidden: true });
	const tab = configure(button('pane-tab', title, onTab), { id: `${id}-tab`, role: 'tab' });
	const brief = element('span', 'brief');
	const chip = button('pane-chip', '', onChip);
	chip.append(element('b', '', title), brief);
	chip.dataset.tab = id;
	tab.setAttribute('aria-controls', id);
	chip.setAttribute('aria-controls', 'pane');
	panel.setAttribute('aria-labelledby', tab.id);
	const entry: Entry = { id, tab, chip, panel, isShown: false, wasOpen: false, onToggle: () => {} };
	return { entry, brief };
}

/** Arrow keys, Home and End choose a tab. Escape closes the pane. */
function addKeys(pane: HTMLElement, tabs: HTMLElement, choose: (id: string) => void): void {
	tabs.addEventListener('keydown', (event) => {
		const shown = [...tabs.querySelectorAll<HTMLElement>('[role=tab]:not([hidden])')];
		const at = shown.findIndex(({ ariaSelected }) => ariaSelected === 'true');
		const step = getComputedStyle(pane).direction === 'rtl' ? -1 : 1;
		const moves: Readonly<Record<string, number>> = {
			...{ ArrowLeft: at - step, ArrowRight: at + step, Home: 0, End: -1 },
		};
		const to = moves[event.key];
		const next = to === undefined ? undefined : shown.at(to % shown.length)?.getAttribute('aria-controls');
		if (!next) return;
		event.preventDefault();
		choose(next);
	});
	pane.addEventListener('keydown', (event) => {
		if (event.key !== 'Escape' || event.defaultPrevented) return;
		event.preventDefault();
		choose('');
	});
}
