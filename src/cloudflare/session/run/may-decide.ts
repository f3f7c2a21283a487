import type { Actor } from '../../../core/base/actor.ts';
import { RunletError } from '../../../core/base/errors.ts';
import type { ToolCall } from '../../../core/tool/index.ts';
import type { ApprovalRequest, Approvers } from '../../agent/approvers.ts';
import type { Agent } from '../../agent/define.ts';
import type { Config } from '../../config/config.ts';
import { logThrown } from '../../log.ts';
import { toDecider } from '../store/askers.ts';
import type { SessionRecord } from '../store/session-row.ts';

interface Decision {
	readonly call: ToolCall;
	readonly approve: boolean;
	readonly by: Actor;
	readonly askers: () => readonly Actor[];
	/** The agent of the child that made the call, and the agents of the sessions between. */
	readonly children?: readonly string[];
}

interface DecisionPlace {
	readonly session: Pick<SessionRecord, 'id' | 'agent' | 'owner' | 'user' | 'metadata' | 'parent'>;
	readonly agents: readonly Pick<Agent, 'name' | 'approvers'>[];
	readonly config: () => Pick<Config, 'local'>;
}

/** Throws `forbidden` if a policy of the agents does not let the person decide. The call continues to wait. */
export function assertMayDecide(place: DecisionPlace, decision: Decision): void {
	const reason = findRefusal(place, decision);
	if (reason === undefined) return;
	const { id } = decision.call;
	const message = `id: you may not decide about "${id}": ${reason}. It waits on for somebody else.`;
	throw new RunletError('forbidden', message, { field: 'id', reason });
}

/** Returns why a policy of the agents does not let the person decide. Returns nothing if all policies do. */
export function findRefusal({ session, agents, config }: DecisionPlace, decision: Decision): string | undefined {
	const { call, approve, by, askers, children = [] } = decision;
	const involved = new Set([session.agent, ...children, ...(session.parent?.agents ?? [])]);
	const policies = agents.flatMap(({ name, approvers }) =>
		approvers !== undefined && involved.has(name) ? [{ name, approvers }] : [],
	);
	if (policies.length === 0) return undefined;
	const { id: sessionId, owner, user, metadata = {} } = session;
	const all = askers();
	const about = { approve, tool: call.name, input: call.input };
	const request = { by: toDecider(by, all), askers: all, ...about, sessionId, owner, user, metadata };
	const isLocal = () => config().local !== undefined;
	const refusing = policies.find(({ approvers }) => !allow(approvers, request, isLocal));
	if (refusing === undefined) return undefined;
	const why = all.includes(request.by) ? ' to somebody who counts as one of those who asked for the call' : '';
	return `approvers of the agent ${refusing.name} does not allow it${why}`;
}

/** A policy that throws allows nothing. */
function allow(allows: Approvers, request: ApprovalRequest, isLocal: () => boolean): boolean {
	try {
		return allows(request) === true;
	} catch (thrown) {
		logThrown('approvers.threw', thrown, { tool: request.tool, local: isLocal() });
		return false;
	}
}
