/** Decisions over MCP: the person of the client has asked for the call, and so may only deny it. */
import { connect } from '../../../mcp/client.ts';
import { seen } from '../agents.ts';
import { pickPerson, pickTarget } from '../choose.ts';
import { settle } from '../look.ts';
import { observe } from '../observe.ts';
import { listNames } from '../persons.ts';
import { hasRight, judgeIn, maySee, type PersonCaller, type Session, toSpeaker } from '../truth.ts';
import type { Walk } from '../walk.ts';
import { chats, findNamed } from './named.ts';
import { isFree, noteSaid, type Way, write } from './way.ts';

const decideOverMcp: Way = {
	name: 'decide over MCP',
	weight: 5,
	go: async (walk) => {
		const caller = pickPerson(walk, ({ scopes }) => scopes.includes('run'));
		const { owner, user } = caller;
		const target = walk.chance(50) ? pickTarget(walk, caller, isFree) : undefined;
		const name = walk.choose(...chats);
		const named = target === undefined ? findNamed(walk, 'mcp', { owner, user }, name) : undefined;
		const session = target?.session ?? named?.session;
		const needs = { right: 'sendMessage', refusal: 'run' } as const;
		if (target !== undefined && (judgeIn(caller, session, needs) !== 'ok' || session?.agent !== 'walker')) return false;
		if (session !== undefined && !isFree(session)) return false;
		const message = write(walk, session ?? { owner, user }, 'pay');
		const approve = walk.chance(70);
		const asks = walk.chance(50);
		const call = asks
			? { name: 'ask', arguments: { text: message.text } }
			: { name: 'pay', arguments: { mark: message.mark } };
		await callAs(walk, caller, target?.id ?? name, { call, approve });
		const id = [...seen.models, ...seen.tools].at(-1)?.sessionId ?? '';
		const found = session ?? named?.note(id, { createdBy: caller.actor });
		if (found === undefined) return false;
		await (asks ? seeRun : seeCall)(walk, found, { caller, mark: message.mark, approve });
		walk.count('decide over MCP', !approve && hasRight(caller.role, 'decide'));
		return true;
	},
};

interface Calling {
	readonly call: { readonly name: string; readonly arguments: Record<string, unknown> };
	readonly approve: boolean;
}

/** Calls a tool with a client whose person accepts or declines everything. */
async function callAs(walk: Walk, caller: PersonCaller, place: string, { call, approve }: Calling): Promise<void> {
	walk.said.push(`MCP ${place} ${JSON.stringify(call)}, which says ${approve}, as ${caller.owner}/${caller.user}`);
	const client = await connect(`/mcp/walker?session=${encodeURIComponent(place)}`, {
		headers: caller.headers,
		elicit: () => ({ action: 'accept', content: { approve } }),
		fetch: (request) => walk.fetch(request),
	});
	const answer = await client.callTool(call).catch((error: unknown) => String(error));
	walk.said.push(`  ${JSON.stringify(answer).slice(0, 400)}`);
	for (const name of listNames(JSON.stringify(answer)))
		walk.check(maySee(caller, name, false), `MCP shows a text of ${name}: ${JSON.stringify(answer)}`);
}

interface Decided {
	readonly caller: PersonCaller;
	readonly mark: string;
	readonly approve: boolean;
}

/** Checks that a run still waits after its asker approved, or after a customer decided. */
async function seeRun(walk: Walk, session: Session, { caller, mark, approve }: Decided): Promise<void> {
	const actor = { ...caller.actor, via: 'mcp' } as const;
	noteSaid(walk, session, mark, [toSpeaker({ ...caller, actor }, session)]);
	await settle(walk, session);
	const { tools } = await observe(walk);
	const isDenied = !approve && hasRight(caller.role, 'decide');
	const expected = isDenied ? 'completed' : 'awaiting_tools';
	walk.check(session.status === expected, `After ${approve} over MCP the session is ${session.status}`);
	walk.check(!tools.some(({ what }) => what === 'pay'), 'Whoever has asked over MCP has approved the call');
}

/** Checks that a call from outside of a run does not run after its caller approved it. */
async function seeCall(walk: Walk, session: Session, { caller }: Decided): Promise<void> {
	const { askedBy, askers } = session;
	const actor = { ...caller.actor, via: 'mcp' } as const;
	const by = toSpeaker({ ...caller, actor }, session);
	Object.assign(session, { askedBy: by, askers: [by] });
	const { tools } = await observe(walk);
	Object.assign(session, { askedBy, askers });
	walk.check(!tools.some(({ what }) => what === 'pay'), 'Whoever calls over MCP has approved the call');
	await settle(walk, session);
}

export const elicited: readonly Way[] = [decideOverMcp];
