/** The choice of the agent and model of a chat, and the start page of the chosen agent. */

import { type Agent, ClientError, type Session } from '../../client/index.ts';
import { describeModel } from '../../client/words.ts';
import { button, element, find } from '../parts/element.ts';
import { type FindSchema, findCallSchema } from '../parts/open-call.ts';

export function createChoice(onAgent: () => void) {
	const agentField = find('#agent', HTMLSelectElement);
	const modelField = find('#model', HTMLSelectElement);
	let agents: readonly Agent[] = [];
	/** The model of the chat, before a person chooses another model. */
	let ownModel: string | undefined;
	agentField.addEventListener('change', onAgent);

	function showModels(model: string | undefined): void {
		const agent = agents.find(({ name }) => name === agentField.value);
		ownModel = model ?? agent?.model;
		const ready = agent?.models.filter((known) => known.ready).map(({ name }) => name) ?? [];
		const names = new Set([...(ownModel === undefined ? [] : [ownModel]), ...ready]);
		modelField.replaceChildren(...[...names].map((name) => new Option(name, name)));
		if (ownModel !== undefined) modelField.value = ownModel;
		modelField.hidden = names.size < 2;
	}

	return {
		get isEmpty() {
			return agents.length === 0;
		},
		/** Returns the chosen agent. If this agent is unknown, returns the first agent. Throws if there is no agent. */
		takeAgent(): Agent {
			const agent = agents.find(({ name }) => name === agentField.value) ?? agents[0];
			if (agent !== undefined) return agent;
			throw new ClientError('no_agent', 'This server has no agent to talk to.', { status: 200 });
		},
		/** Finds the schema for the form of a call. The default for `agent` is the chosen agent. */
		findSchema: ((call, agent = agentField.value) => findCallSchema(agents, agent, call)) satisfies FindSchema,
		/** The model that a person chose instead of the chat's model. Undefined if the model stays the same. */
		get model(): string | undefined {
			return modelField.value === ownModel || modelField.value === '' ? undefined : modelField.value;
		},
		keepModel(): void {
			ownModel = modelField.value;
		},
		show(list: readonly Agent[]): void {
			agents = list;
			agentField.replaceChildren(...list.map(({ name }) => new Option(name, name)));
			agentField.disabled = list.length === 0;
			showModels(undefined);
		},
		/** Selects the agent and model of a session, even if the server no longer offers them. */
		pick({ agent, model }: Pick<Session, 'agent'> & { readonly model?: string }): void {
			if (!agents.some(({ name }) => name === agent)) agentField.add(new Option(agent, agent));
			agentField.value = agent;
			showModels(model);
		},
	};
}

const root = find('#welcome', HTMLElement);

export function hideWelcome(): void {
	root.hidden = true;
}

export function showWelcome(agent: Agent, onExample: (text: string) => void): void {
	find('#welcome-name', HTMLElement).textContent = agent.name;
	find('#welcome-description', HTMLElement).textContent = agent.description;
	const toNames = (items: readonly { readonly name: string }[]) => items.map(({ name }) => name);
	find('#welcome-facts', HTMLElement).replaceChildren(
		...createFacts('Model', [describeModel(agent)]),
		...createFacts('Tools', toNames(agent.tools)),
		...createFacts('Skills', toNames(agent.skills)),
	);
	const box = find('#examples', HTMLElement);
	for (const old of box.querySelectorAll('button')) old.remove();
	box.append(...agent.examples.map((text) => button('', text, () => onExample(text))));
	box.hidden = agent.examples.length === 0;
	root.hidden = false;
}

function createFacts(label: string, names: readonly string[]): HTMLElement[] {
	if (names.length === 0) return [];
	const shown = names.length > 12 ? [...names.slice(0, 10), `and ${names.length - 10} more`] : names;
	return [element('dt', '', label), element('dd', '', shown.join(', '))];
}
