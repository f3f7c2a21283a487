import { findAgent } from '../../agent/define.ts';
import { assertMay } from '../../auth/rights.ts';
import type { ListedTool, OutsideCall } from '../../objects/outside-call.ts';
import type { Bytes } from '../../objects/reach.ts';
import type { Caller, CreateInput } from '../../objects/session-api.ts';
import { hasServers } from '../run/load-tools.ts';
import { assertMayDecide } from '../run/may-decide.ts';
import { toSpeaker } from '../store/inbound.ts';
import type { Inbox } from './inbox.ts';
import { visit } from './messages.ts';
import type { InboxContext } from './transaction.ts';

const rights = ['sendMessage'] as const;

export async function listTools(
	{ runtime, store, runner, authorization }: InboxContext,
	inbox: Inbox,
	{ caller, agent, create }: { readonly caller: Caller; readonly agent: string; readonly create?: CreateInput },
): Promise<readonly ListedTool[]> {
	// MCP servers get the session's id, so the session has to exist.
	if (hasServers(findAgent(runtime.agents, agent))) await inbox.take({ caller, agent, rights, create }, visit);
	else if (create !== undefined && authorization.isMissing()) return runner.outside.list(create);
	await authorization.open(caller, rights, agent);
	return runner.outside.list(store.session());
}

export async function callTool(
	{ runtime, config, store, runner, authorization }: InboxContext,
	inbox: Inbox,
	{ caller, call, create }: { readonly caller: Caller; readonly call: OutsideCall; readonly create?: CreateInput },
): Promise<Bytes> {
	const { by } = await inbox.take({ caller, agent: call.agent, rights, create }, visit);
	const principal = await authorization.open(caller, rights, call.agent);
	const askedBy = by && toSpeaker(by, store.session());
	return runner.outside.begin(call, askedBy, (asked, approve) => {
		assertMay(principal, 'decide');
		if (by === undefined || askedBy === undefined) return;
		// The caller of a tool counts as the person who asked for the call.
		const decision = { call: asked, approve, by, askers: () => [askedBy] };
		assertMayDecide({ session: store.session(), agents: runtime.agents, config }, decision);
	});
}
