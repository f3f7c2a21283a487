/** The runs of all sessions, with filters. A row opens the trace of its run. */

import type { ListedSession } from '../../client/index.ts';
import { describeUsd } from '../../client/words.ts';
import { toTraceAddress } from '../parts/address.ts';
import { configure, createTable, element, link } from '../parts/element.ts';
import { createSearchField } from '../parts/form.ts';
import { createPages, type Panel, type Place } from '../parts/panel.ts';
import { createAge, describeTime } from '../parts/time.ts';

type Run = NonNullable<ListedSession['runs']>[number];

/** The sessions of a request, and the most requests until enough rows are found. */
const [pageLength, mostRequests] = [20, 5];
/** The rows that are shown before a person asks for more. */
const enough = 20;
/** Milliseconds after the last letter until a search begins. */
const searchAfterMs = 200;

interface Row {
	readonly session: ListedSession;
	readonly run: Run;
	readonly status: Status;
}

/** `waited`: a person has decided, or has written something else, so a later run goes on. */
type Status = Run['status'] | 'waited';

export const runs: Panel = {
	name: 'runs',
	title: 'Traces',
	right: 'manageSession',
	about: 'The newest runs of all sessions. A run opens its trace; its address can be shared.',
	async open(root, place) {
		const { client, signal } = place;
		const agents = await client.listAgents({ signal });
		const filters = createFilters(
			agents.map(({ name }) => name),
			() => pages.reload(),
		);
		const table = createTable('all-runs', ['Run', 'Agent', 'Model', 'Status', 'Cost', 'Took', 'Began'], []);
		const [rows = element('tbody')] = table.tBodies;
		const nothing = element('p', 'nothing', 'No run fits. Clear a filter, or start a chat.');
		const findModel = ({ session, run }: Row): string =>
			run.model ?? agents.find(({ name }) => name === session.agent)?.model ?? '';
		const pages = createPages(
			place,
			async (cursor) => {
				const found: Row[] = [];
				let next = cursor;
				for (let request = 0; request < mostRequests; request += 1) {
					const page = await readSessions(place, filters.query(), next);
					found.push(...page.rows.filter((row) => filters.fits(row, findModel(row))));
					next = page.cursor;
					if (next === undefined || found.length >= enough) break;
				}
				return { found, ...(next !== undefined && { cursor: next }) };
			},
			({ found }, isFirst) => {
				if (isFirst) rows.replaceChildren();
				rows.append(...found.map((row) => createRow(row, findModel(row))));
				filters.addModels(found.map(findModel));
			},
		);
		await pages.load();
		place.onNews(pages.load);
		root.append(filters.root, table, nothing, pages.more, pages.failures);
	},
};

/** Reads a page of sessions with their newest runs, in one request. Leaves out runs that were copied with a session. */
async function readSessions({ client, signal }: Place, query: object, cursor: string | undefined) {
	const page = await client.listSessions({ ...query, details: 'runs', limit: pageLength, cursor, signal });
	const rows = page.sessions.flatMap((session) => {
		// The newest run is the first one. Only this run can still wait.
		const all = (session.runs ?? []).map((run, at): Row => ({ session, run, status: findStatus(run, at === 0) }));
		return all.filter(({ run }) => Date.parse(run.createdAt) >= Date.parse(session.createdAt));
	});
	return { rows, cursor: page.cursor };
}

function findStatus({ status }: Run, isNewest: boolean): Status {
	return status.startsWith('awaiting') && !isNewest ? 'waited' : status;
}

const wordsOfStatus: Readonly<Record<Status, string>> = {
	running: 'running',
	awaiting_user: 'asks a person',
	awaiting_tools: 'waits for a person',
	waited: 'waited for a person',
	completed: 'done',
	halted: 'stopped',
	cancelled: 'cancelled',
	error: 'failed',
};

const statuses = {
	'': 'Any status',
	error: 'With an error',
	completed: 'Done',
	running: 'Running',
	waiting: 'Waits for a person',
	stopped: 'Stopped',
};
const times = { '': 'Any time', '3600000': 'Last hour', '86400000': 'Last day', '604800000': 'Last 7 days' };
const costs = { '': 'Any cost', '0.01': 'Over $0.01', '0.1': 'Over $0.10', '1': 'Over $1.00' };

function createFilters(agents: readonly string[], onChange: () => void) {
	const words = createSearchField('Search runs', 'Search titles and contents');
	const agent = createSelect('Agent', { '': 'All agents', ...toOptions(agents) }, onChange);
	const model = createSelect('Model', { '': 'All models' }, onChange);
	const status = createSelect('Status', statuses, onChange);
	const since = createSelect('Time', times, onChange);
	const cost = createSelect('Cost', costs, onChange);
	let timer: ReturnType<typeof setTimeout> | undefined;
	words.addEventListener('input', () => {
		clearTimeout(timer);
		timer = setTimeout(onChange, searchAfterMs);
	});
	return {
		root: element('div', 'tools filters', words, agent, model, status, since, cost),
		/** Returns the part of the filters that the server knows. */
		query: () => ({ q: words.value.trim() || undefined, agent: agent.value || undefined }),
		fits({ run, status: state }: Row, ranWith: string): boolean {
			return (
				(model.value === '' || model.value === ranWith) &&
				(status.value === '' || status.value === toGroup(state)) &&
				(since.value === '' || Date.now() - Date.parse(run.createdAt) < Number(since.value)) &&
				(cost.value === '' || run.spent.usd > Number(cost.value))
			);
		},
		/** Offers the models that were found. */
		addModels(names: readonly string[]): void {
			const known = new Set([...model.options].map(({ value }) => value));
			for (const name of new Set(names)) if (!known.has(name)) model.append(new Option(name, name));
		},
	};
}

function toGroup(status: Status): string {
	if (status.startsWith('awaiting')) return 'waiting';
	return status === 'halted' || status === 'cancelled' ? 'stopped' : status;
}

function toOptions(names: readonly string[]): Record<string, string> {
	return Object.fromEntries(names.map((name) => [name, name]));
}

function createSelect(label: string, options: Readonly<Record<string, string>>, onChange: () => void) {
	const select = configure(element('select'), { ariaLabel: label });
	select.append(...Object.entries(options).map(([value, text]) => new Option(text, value)));
	// An object lists keys that are numbers first.
	select.value = '';
	select.addEventListener('change', onChange);
	return select;
}

function createRow({ session, run, status }: Row, model: string): HTMLElement {
	const { id, agent, title = 'No message yet', excerpt } = session;
	const { createdAt, endedAt, spent, error } = run;
	const name = element('th', '', link('title', toTraceAddress(id, { run: run.id }), title));
	if (excerpt !== undefined) name.append(configure(element('p', 'about', excerpt), { dir: 'auto' }));
	const mark = element('span', 'state', wordsOfStatus[status]);
	mark.dataset.state = status;
	const took = endedAt === undefined ? '' : describeTime(Date.parse(endedAt) - Date.parse(createdAt));
	const row = element(
		'tr',
		'',
		configure(name, { scope: 'row' }),
		element('td', '', agent),
		element('td', '', model),
		element('td', 'status', mark, error === undefined ? undefined : element('code', 'about', error)),
		element('td', 'cost', describeCost(run), element('small', '', `${spent.tokens.toLocaleString('en')} tokens`)),
		element('td', 'cost', took),
		element('td', '', createAge(createdAt)),
	);
	row.dataset.run = run.id;
	return row;
}

/** Describes a cost. An unknown price is shown as unknown, not as 0. */
function describeCost({ spent: { usd }, unpricedTokens = 0 }: Run): string {
	if (unpricedTokens === 0) return describeUsd(usd);
	return usd > 0 ? `${describeUsd(usd)} and unknown` : 'unknown';
}
