/** What a new chat of the element talks to: the agent of its attribute, or the session of a new token. */

import { type Agent, ClientError, type SessionClient } from '../../client/index.ts';
import { say } from '../../client/say.ts';
import type { Choice } from '../chat/choice.ts';
import { findCallSchema } from '../parts/open-call.ts';
import { type createDoor, findSession } from './door.ts';
import type { Settings } from './settings.ts';

type Door = Pick<ReturnType<typeof createDoor>, 'needsToken' | 'ask'>;

export function createEmbeddedChoice(client: SessionClient, door: Door, settings: Settings): Choice {
	/** Empty with a token, which does not open the list of agents. */
	let agents: readonly Agent[] = [];
	let { agent: name = '' } = settings;

	const findAgent = (): Agent | undefined =>
		settings.agent === undefined ? agents[0] : agents.find((agent) => agent.name === settings.agent);

	return {
		async load(signal) {
			if (!door.needsToken && agents.length === 0) agents = await client.listAgents({ signal });
		},
		begin() {
			const agent = findAgent();
			if (!door.needsToken && agent === undefined)
				throw new ClientError('no_agent', `There is no agent ${name} here.`, { status: 404 });
			const { welcome = say('How can I help?'), start = agent?.examples ?? [] } = settings;
			name = agent?.name ?? name;
			return { name: welcome, description: '', examples: start };
		},
		// With a token, the visitor's server has created the session.
		create: door.needsToken ? async () => findSession(await door.ask(undefined)) ?? '' : undefined,
		get agent() {
			return name;
		},
		pick({ agent }) {
			name = agent;
		},
		findSchema: (call, agent = name) => findCallSchema(agents, agent, call),
		model: undefined,
		keepModel() {},
	};
}
