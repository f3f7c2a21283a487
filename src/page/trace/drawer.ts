/** The drawer beside a chat. It shows the time and cost of the runs, and their events as they arrive. */

import type { Client } from '../../client/index.ts';
import type { TracePlace } from '../parts/address.ts';
import { button, element, find } from '../parts/element.ts';
import { createFailure } from '../parts/failure.ts';
import type { Visit } from '../parts/live.ts';
import type { PaneTab } from '../parts/pane-tab.ts';
import { createDetails } from './details.ts';
import { createEventList } from './events.ts';
import { type Watch, watchSession } from './load.ts';
import { createPlace } from './place.ts';
import { createRerun } from './rerun.ts';
import { showTurns } from './turns.ts';
import { createWaterfall } from './waterfall.ts';

/** The tab beside a chat. `toCurl` returns the shell command that reads the events of a session. */
export function createTraceDrawer(tab: PaneTab, client: Client, toCurl: (session: string) => string) {
	const opener = find('#trace-open', HTMLButtonElement);
	const waterfall = createWaterfall({
		onOlder: () => watch?.readOlder() ?? Promise.resolve(),
		createMore: ({ id }) => createRerun(client, readVisit(), id),
		createDetails: (run, span) =>
			createDetails(client, readVisit(), { run, span, toAddress: () => place.toLink({ run: run.id, span: span.id }) }),
		onChosen: (run, span) => place.point({ run: run.id, ...(span !== undefined && { span: span.id }) }),
	});
	const events = createEventList(() => toCurl(session ?? ''));
	const turns = element('div', 'turns');
	const failure = element('div');
	let session: string | undefined;
	let visit = new AbortController();
	let watch: Watch | undefined;
	const place = createPlace(() => session, {
		show: waterfall.reveal,
		readOlder: () => watch?.readOlder(),
		onUnknown: () =>
			failure.replaceChildren(element('p', 'nothing', 'This session has no such run, or it was removed.')),
	});
	const tabs = createTabs([
		['Trace', waterfall.root],
		['Turns', turns],
		['Events', events.root],
	]);
	tab.panel.append(element('div', 'trace-parts', ...tabs), failure, waterfall.root, turns, events.root);
	const readVisit = (): Visit => ({ id: session ?? '', signal: visit.signal });
	/** Whether the address already names what is opened. */
	let isNamed = false;
	tab.onToggle = (isOpen) => {
		opener.setAttribute('aria-expanded', `${isOpen}`);
		if (!isNamed) place.point(isOpen ? {} : undefined);
		restart();
	};

	/** Clears the tab. If the tab is open, reads the session again. */
	function restart(): void {
		visit.abort();
		visit = new AbortController();
		waterfall.clear();
		turns.replaceChildren();
		failure.replaceChildren();
		events.clear();
		watch = undefined;
		if (!tab.isOpen || session === undefined) return;
		watch = watchSession(
			client,
			{ id: session, signal: visit.signal },
			{
				onTrace: (trace) => {
					waterfall.show(trace);
					place.reveal(trace);
					showTurns(turns, trace);
				},
				onEvent: events.push,
				onFailure: (error) => failure.replaceChildren(createFailure(error, restart)),
			},
		);
		watch.refresh();
	}

	opener.addEventListener('click', tab.toggle);

	return {
		/** Shows a session. If it is already shown, reads it again. Without a session, the tab is hidden. */
		show(id: string | undefined): void {
			if (id === session) {
				watch?.refresh();
				return;
			}
			session = id;
			place.want({});
			opener.hidden = id === undefined;
			tab.isShown = id !== undefined;
			restart();
		},
		/** Opens the tab for the shown session, with a run and a span. */
		open(wanted: TracePlace): void {
			place.want(wanted);
			if (tab.isOpen) {
				restart();
				return;
			}
			isNamed = true;
			tab.toggle();
			isNamed = false;
		},
	};
}
/** Makes a tab for each part. A tab shows its part and hides the others. */
function createTabs(parts: readonly (readonly [title: string, part: HTMLElement])[]): HTMLButtonElement[] {
	const tabs = parts.map(([title], at) => button('tab', title, () => choose(at)));
	function choose(chosen: number): void {
		for (const [at, [, part]] of parts.entries()) {
			part.hidden = at !== chosen;
			tabs[at]?.setAttribute('aria-pressed', `${at === chosen}`);
		}
	}
	choose(0);
	return tabs;
}

/** Returns the shell command that reads a session's events. If the server requires a key, the shell inserts the key. */
export function toCurl(baseUrl: string, session: string, wantsKey: boolean): string {
	const url = new URL(`v1/sessions/${encodeURIComponent(session)}/events`, baseUrl).href.replaceAll("'", '%27');
	const key = wantsKey ? ' -H "authorization: Bearer $RUNLET_API_KEY"' : '';
	return `curl -N '${url}' -H 'accept: text/event-stream'${key}`;
}
