/** The choice of the agent and model of a chat. */

import { type Agent, type Client, ClientError, type Session } from '../../client/index.ts';
import { describeModel } from '../../client/words.ts';
import { find } from '../parts/element.ts';
import { type FindSchema, findCallSchema } from '../parts/open-call.ts';
import type { Viewer } from '../parts/viewer.ts';
import type { Welcome } from './welcome.ts';

/** What a new chat talks to. */
export interface Choice {
	/** Reads what can be chosen. Does nothing if it is known. */
	readonly load: (signal: AbortSignal) => Promise<void>;
	/** Begins a new chat, and returns its start page. Throws if there is no agent. */
	readonly begin: () => Welcome;
	/** Creates the session of a new chat, and returns its id. Without it, the first message creates the session. */
	readonly create?: () => Promise<string>;
	/** The agent of a new chat. */
	readonly agent: string;
	/** Selects the agent and model of a session, even if the server no longer offers them. */
	readonly pick: (session: Pick<Session, 'agent'> & { readonly model?: string }) => void;
	/** Finds the schema for the form of a call. The default for `agent` is the chosen agent. */
	readonly findSchema: FindSchema;
	/** The model that a person chose instead of the chat's model. Undefined if the model stays the same. */
	readonly model: string | undefined;
	readonly keepModel: () => void;
}

/** The start page as the choice sees it. */
export interface Start {
	readonly agents: readonly Agent[];
	/** The name of the chosen agent. */
	readonly chosen: string;
	/** Shows another agent on the start page. */
	readonly onAgent: (name: string) => void;
	/** Begins a chat with an agent. */
	readonly onExample: (name: string, text: string) => void;
	/** Reads the agents again, and shows the start page anew. */
	readonly renew: () => Promise<void>;
}

/** What the start page has besides the chosen agent. */
export interface Home {
	readonly intro: string;
	readonly create: (start: Start) => HTMLElement;
}

/** Lets a person choose from all agents of the server, and from their models. */
export function createChoice(
	client: Client,
	viewer: Viewer,
	{ onAgent, home }: { readonly onAgent: (name: string) => void; readonly home: Home },
): Choice {
	const agentField = find('#agent', HTMLSelectElement);
	const modelField = find('#model', HTMLSelectElement);
	let agents: readonly Agent[] = [];
	/** The model of the chat, before a person chooses another model. */
	let ownModel: string | undefined;
	agentField.addEventListener('change', () => onAgent(agentField.value));

	function showModels(model: string | undefined): void {
		const agent = agents.find(({ name }) => name === agentField.value);
		ownModel = model ?? agent?.model;
		const ready = agent?.models.filter((known) => known.ready).map(({ name }) => name) ?? [];
		const names = new Set([...(ownModel === undefined ? [] : [ownModel]), ...ready]);
		modelField.replaceChildren(...[...names].map((name) => new Option(name, name)));
		if (ownModel !== undefined) modelField.value = ownModel;
		modelField.hidden = names.size < 2;
	}

	/** Returns the chosen agent. If this agent is unknown, returns the first agent. Throws if there is no agent. */
	function takeAgent(): Agent {
		const agent = agents.find(({ name }) => name === agentField.value) ?? agents[0];
		if (agent !== undefined) return agent;
		throw new ClientError('no_agent', 'This server has no agent to talk to.', { status: 200 });
	}

	function pick({ agent, model }: Parameters<Choice['pick']>[0]): void {
		if (!agents.some(({ name }) => name === agent)) agentField.add(new Option(agent, agent));
		agentField.value = agent;
		showModels(model);
	}

	async function read(signal?: AbortSignal): Promise<void> {
		agents = await client.listAgents({ signal });
		const chosen = agentField.value;
		agentField.replaceChildren(...agents.map(({ name }) => new Option(name, name)));
		if (agents.some(({ name }) => name === chosen)) agentField.value = chosen;
		agentField.disabled = agents.length === 0;
		showModels(undefined);
	}

	const createMore = (send: (text: string) => void): HTMLElement =>
		home.create({
			agents,
			chosen: agentField.value,
			onAgent(name) {
				pick({ agent: name });
				onAgent(name);
			},
			onExample(name, text) {
				pick({ agent: name });
				send(text);
			},
			async renew() {
				await read();
				onAgent(agentField.value);
			},
		});

	return {
		async load(signal) {
			// The token of a session does not open the list of agents.
			if (agents.length === 0 && viewer.may('seeAgents')) await read(signal);
		},
		begin() {
			const agent = takeAgent();
			pick({ agent: agent.name });
			return { ...toWelcome(agent), intro: home.intro, createMore };
		},
		get agent() {
			return takeAgent().name;
		},
		pick,
		findSchema: (call, agent = agentField.value) => findCallSchema(agents, agent, call),
		get model() {
			return modelField.value === ownModel || modelField.value === '' ? undefined : modelField.value;
		},
		keepModel() {
			ownModel = modelField.value;
		},
	};
}

function toWelcome(agent: Agent): Welcome {
	const { name, description, examples } = agent;
	const toNames = (items: readonly { readonly name: string }[]) => items.map(({ name }) => name);
	const facts = [
		['Model', [describeModel(agent)]],
		['Tools', toNames(agent.tools)],
		['Skills', toNames(agent.skills)],
	] as const;
	return { name, description, examples, facts };
}
