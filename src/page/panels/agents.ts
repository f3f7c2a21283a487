/** The agents of the server: their prompts, models, tools, skills, costs and schedules. */

import type { Agent, AgentTool, Client, Schedule } from '../../client/index.ts';
import { describeMoney } from '../../client/words.ts';
import { chooseAgent } from '../parts/choose-agent.ts';
import { element, link } from '../parts/element.ts';
import { createFailure } from '../parts/failure.ts';
import { createPageIcon } from '../parts/page-icon.ts';
import type { Panel, Place } from '../parts/panel.ts';
import { createScheduleFacts } from '../parts/schedule.ts';
import { createToolRun, type RunPlace } from './run-tool.ts';
import { createRunNow } from './schedules.ts';

/** The number of days whose cost is shown. */
const days = 30;

interface About {
	readonly schedules: readonly Schedule[];
	/** The cost in words, by agent. */
	readonly costs: ReadonlyMap<string, string>;
}

export const agents: Panel = {
	name: 'agents',
	title: 'Agents',
	right: 'manageSession',
	about: 'Who works here: with which model, which tools and skills, for what cost, and when by itself.',
	async open(root, place) {
		const { client, signal } = place;
		const [all, schedules, costs] = await Promise.all([
			client.listAgents({ signal }),
			client.listSchedules({ signal }).catch(() => []),
			readCosts(client, signal),
		]);
		const list = element('ul', 'cards', ...all.map((agent) => createEntry(agent, { schedules, costs }, place)));
		root.append(element('p', 'nothing', 'This server has no agent. Write one in src/agents.'), list);
	},
};

/** Reads the cost of each agent. A person without the right to read costs sees none. */
async function readCosts(client: Client, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
	const usage = await client.getUsage({ days, by: 'agent', signal }).catch(() => undefined);
	const sums = new Map<string, { tokens: number; usd: number; isUnknown: boolean }>();
	for (const group of usage?.groups ?? []) {
		if (group.agent === undefined || !('spent' in group)) continue;
		const { tokens, usd, isUnknown } = sums.get(group.agent) ?? { tokens: 0, usd: 0, isUnknown: false };
		const { agent, spent, unpricedTokens } = group;
		sums.set(agent, {
			...{ tokens: tokens + spent.tokens, usd: usd + (spent.usd ?? 0) },
			isUnknown: isUnknown || spent.usd === null || unpricedTokens !== undefined,
		});
	}
	return new Map([...sums].map(([agent, sum]) => [agent, describeCost(sum)]));
}

function describeCost({ tokens, usd, isUnknown }: { tokens: number; usd: number; isUnknown: boolean }): string {
	const count = `${tokens.toLocaleString('en')} tokens`;
	if (usd === 0) return isUnknown ? `${count}, cost unknown` : count;
	return `${describeMoney({ usd, tokens })}${isUnknown ? ' and unknown' : ''}, ${count}`;
}

function createEntry(agent: Agent, { schedules, costs }: About, place: Place): HTMLElement {
	const { name, description, tools, skills, fallbacks = [], system } = agent;
	const own = schedules.filter((schedule) => schedule.agent === name);
	const summary = element('summary', 'card-head', element('b', 'title', name), element('span', 'about', description));
	const facts = element(
		'dl',
		'facts',
		...createFact('Model', createModel(agent)),
		...createFact('Other models', join(agent.models.slice(1).map((model) => describeModel(model)))),
		...createFact('If it fails', join(fallbacks.map((model) => describeModel(model)))),
		...createFact(`Last ${days} days`, costs.get(name) ?? 'no cost'),
		...createFact('Skills', join(skills.map((skill) => skill.name))),
	);
	const details = element(
		'details',
		'agent',
		summary,
		facts,
		createPart('Prompt', system === undefined ? [] : [element('pre', 'input prompt', system)]),
		createPart(`Tools (${tools.length})`, tools.length === 0 ? [] : [createTools(agent, place)]),
		createPart(
			'Schedules',
			own.map((schedule) => createSchedule(schedule, place)),
		),
		createActions(agent),
	);
	return element('li', 'card', details);
}

function createFact(label: string, value: Node | string): HTMLElement[] {
	return value === '' ? [] : [element('dt', '', label), element('dd', '', value)];
}

const join = (names: readonly string[]): string => names.join(', ');

function createModel({ models, model }: Agent): Node {
	const about = models.find(({ name }) => name === model);
	const state =
		about?.ready === true ? undefined : element('span', 'warning', ` ${about ? describeMissing(about) : ''}`);
	return element('span', '', element('code', '', model), about?.provider && ` · ${about.provider}`, state);
}

type Model = Agent['models'][number];

function describeModel(model: Model): string {
	return model.ready ? model.name : `${model.name} (${describeMissing(model)})`;
}

function describeMissing({ needs, problem }: Model): string {
	return needs === undefined ? (problem ?? 'not ready') : `not ready: set ${needs}`;
}

function createPart(title: string, nodes: readonly Node[]): HTMLElement | undefined {
	if (nodes.length === 0) return undefined;
	return element('section', 'agent-part', element('h3', '', title), ...nodes);
}

function createTools({ name: agent, tools }: Agent, { client, signal }: Place): HTMLElement {
	const findTool = async (name: string) => {
		const known = await client.listAgentTools(agent, { signal });
		return known.find((tool) => tool.name === name);
	};
	return element('ul', 'tool-list', ...tools.map((tool) => createTool(tool, { client, signal, agent, findTool })));
}

interface ToolPlace extends RunPlace {
	/** Returns undefined for a tool that nobody can call alone. */
	findTool(name: string): Promise<AgentTool | undefined>;
}

function createTool({ name, description = '', needsApproval }: Agent['tools'][number], place: ToolPlace): HTMLElement {
	const asks = needsApproval === undefined ? undefined : needsApproval === 'always' ? 'asks first' : 'may ask first';
	const mark = asks === undefined ? undefined : element('small', 'mark', asks);
	const body = element('div');
	const summary = element(
		'summary',
		'',
		element('span', '', element('code', '', name), ' ', mark),
		element('span', 'run-way', 'Run it alone'),
		element('span', 'about', description),
	);
	const root = element('details', 'tool', summary, body);
	// Makes the form when a person opens it.
	async function show(): Promise<void> {
		try {
			const tool = await place.findTool(name);
			if (tool === undefined)
				body.replaceChildren(createNotice('It starts another agent, so it runs in a session only.'));
			else if (tool.manual === true)
				body.replaceChildren(createNotice('A person gives its results, so there is nothing to run.'));
			else body.replaceChildren(createToolRun(tool, place));
		} catch (error) {
			if (!place.signal.aborted) body.replaceChildren(createFailure(error, () => void show()));
		}
	}
	root.addEventListener('toggle', () => {
		if (root.open && body.childElementCount === 0) void show();
	});
	return element('li', '', root);
}

function createSchedule(schedule: Schedule, { client, signal }: Place): HTMLElement {
	const name = element('p', '', element('b', '', schedule.name));
	return element(
		'div',
		'agent-schedule',
		name,
		...createScheduleFacts(schedule),
		createRunNow(schedule, client, signal),
	);
}

const createNotice = (words: string): HTMLElement => element('p', 'notice', words);

function createActions({ name }: Agent): HTMLElement {
	const start = link('', '#/', createPageIcon('pen'), 'New chat');
	start.addEventListener('click', () => chooseAgent(name));
	return element('p', 'agent-actions', start);
}
