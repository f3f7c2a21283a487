/** The menu: links to the panels and to the newest sessions. */

import type { ApprovalPage, Client, ListedSession } from '../../client/index.ts';
import { parseAddress, toSessionAddress } from '../parts/address.ts';
import { element, find, link } from '../parts/element.ts';
import { createPageIcon } from '../parts/page-icon.ts';
import type { Panel } from '../parts/panel.ts';
import { findLook, groups } from '../parts/places.ts';
import { createAge } from '../parts/time.ts';
import type { Viewer } from '../parts/viewer.ts';

const mostSessions = 30;
/** The maximum number of waiting calls that the badge counts. */
const mostWaiting = 100;
const noApprovals: ApprovalPage = { approvals: [] };

interface News {
	/** Called with the ids of the changed sessions, after a read that found changes. */
	onNews(changed: ReadonlySet<string>): void;
	/** Called with the number of calls and questions that wait for a person. */
	onWaiting(count: number): void;
}

export function createMenu(client: Client, viewer: Viewer, { onNews, onWaiting }: News) {
	const places = find('#places', HTMLElement);
	const recent = find('#recent', HTMLElement);
	const newChat = find('#new', HTMLAnchorElement);
	const waiting = element('span', 'badge');
	const drawer = createDrawer(find('#side', HTMLElement), find('#menu', HTMLButtonElement));
	/** The sessions (as JSON) and the waiting calls of the last read, by id. */
	let known: ReadonlyMap<string, string> | undefined;
	let reading = new AbortController();

	waiting.hidden = true;

	/** Lists what the person may see. */
	function showPanels(panels: readonly Panel[]): void {
		places.replaceChildren(...createGroups(panels, waiting));
		newChat.hidden = !viewer.may('createSession');
		find('#recent-title', HTMLElement).hidden = !viewer.may('listSessions');
		known = undefined;
		showSessions([]);
	}

	function mark(): void {
		const { panel = '', session } = parseAddress(location.hash);
		const address = session === undefined ? `#/${panel}` : toSessionAddress(session);
		for (const anchor of [newChat, ...places.querySelectorAll('a'), ...recent.querySelectorAll('a')])
			anchor.ariaCurrent = anchor.getAttribute('href') === address ? 'page' : null;
	}

	function showSessions(sessions: readonly ListedSession[]): void {
		const { activeElement } = document;
		const focused = recent.contains(activeElement) ? activeElement?.getAttribute('href') : undefined;
		// A session without messages has no title, such as one for calls of tools.
		const titled = sessions.filter(({ title }) => title !== undefined);
		recent.replaceChildren(...titled.map(createEntry));
		recent.hidden = titled.length === 0;
		mark();
		for (const anchor of recent.querySelectorAll('a'))
			if (anchor.getAttribute('href') === focused) anchor.focus({ preventScroll: true });
	}

	return {
		showPanels,
		/** Marks the link to the current address of the page. */
		point(): void {
			mark();
			drawer.close();
		},

		/** Reads the sessions and the waiting calls. If they cannot be read, the menu stays unchanged. */
		async refresh(): Promise<void> {
			reading.abort();
			reading = new AbortController();
			const { signal } = reading;
			if (!viewer.may('listSessions')) return;
			const [listed, waits] = await Promise.allSettled([
				client.listSessions({ limit: mostSessions, signal }),
				viewer.may('seeInbox') ? client.listApprovals({ limit: mostWaiting, signal }) : noApprovals,
			]);
			if (signal.aborted) return;
			if (listed.status === 'fulfilled') showSessions(listed.value.sessions);
			if (waits.status === 'fulfilled') showWaiting(waits.value.approvals.length, waits.value.cursor !== undefined);
			if (listed.status !== 'fulfilled' || waits.status !== 'fulfilled') return;
			const now = new Map([
				...listed.value.sessions.map((session) => [session.id, JSON.stringify(session)] as const),
				...waits.value.approvals.map(({ sessionId, callId }) => [`${sessionId} ${callId}`, ''] as const),
			]);
			// The first read has nothing to compare with, so it finds no changes.
			const before = known ?? now;
			known = now;
			const changed = [...before.keys(), ...now.keys()].filter((id) => before.get(id) !== now.get(id));
			if (changed.length > 0) onNews(new Set(changed));
		},
	};

	function showWaiting(count: number, isMore: boolean): void {
		const words = element('span', 'visually-hidden', count === 1 ? ' waits' : ' wait');
		waiting.replaceChildren(isMore ? `${count}+` : `${count}`, words);
		waiting.hidden = count === 0;
		onWaiting(count);
	}
}

/** Lists the panels by their groups. The inbox has a badge. */
function createGroups(panels: readonly Panel[], badge: HTMLElement): HTMLElement[] {
	const createPlace = ({ name, title }: Panel): HTMLElement => {
		const words = element('span', '', title);
		const more = name === 'inbox' ? badge : undefined;
		return element('li', '', link('', `#/${name}`, createPageIcon(findLook(name).icon), words, more));
	};
	return groups.flatMap((group) => {
		const own = panels.filter(({ name }) => findLook(name).group === group);
		if (own.length === 0) return [];
		return [element('li', '', element('p', 'places-title', group), element('ul', '', ...own.map(createPlace)))];
	});
}

function createEntry({ id, title = 'No message yet', agent, lastActivityAt }: ListedSession): HTMLElement {
	const about = element('span', 'about', agent, ' · ', createAge(lastActivityAt));
	return element('li', '', link('', toSessionAddress(id), element('span', 'title', title), about));
}

function createDrawer(side: HTMLElement, opener: HTMLButtonElement) {
	const page = find('main', HTMLElement);

	function set(isOpen: boolean): void {
		document.body.classList.toggle('menu-open', isOpen);
		opener.setAttribute('aria-expanded', `${isOpen}`);
		page.inert = isOpen;
	}

	function close(): void {
		if (!document.body.classList.contains('menu-open')) return;
		set(false);
		opener.focus();
	}

	opener.addEventListener('click', () => {
		set(true);
		side.querySelector('a')?.focus();
	});
	addEventListener('keydown', ({ key }) => {
		// A dialog over the menu closes first.
		if (key === 'Escape' && document.querySelector(':modal, :popover-open') === null) close();
	});
	find('#shade', HTMLElement).addEventListener('click', close);
	// On a wide screen, the menu is beside the page and needs no drawer.
	matchMedia('(width >= 56rem)').addEventListener('change', close);
	return { close };
}
