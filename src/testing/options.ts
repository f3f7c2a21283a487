import type { Agent } from '../cloudflare/agent/define.ts';
import { assertRight, type Right, type Role } from '../cloudflare/auth/rights.ts';
import type { CallAnswer } from '../core/chat/call-answers.ts';
import type { WaitingCall } from '../core/chat/event.ts';
import type {
	Actor,
	Env,
	Message,
	MessagePart,
	providers,
	RunEvent,
	RunResult,
	Skill,
	skill,
	Tool,
	ToolState,
	Workspace,
} from '../core/index.ts';

/** What a session of a test is made of. */
export interface TestSessionOptions {
	/** What the model answers, one entry a turn: a text, `callTool(…)`, a reply, an error, or a function of the request. */
	readonly script: readonly providers.ScriptedTurn[];
	/** Bindings and variables for the tools, as far as the test needs them. */
	readonly env?: Partial<Env>;
	/** The tenant of the session. `test` if it is missing. */
	readonly owner?: string;
	/** The person of the session, by whom tools authorize. */
	readonly user?: string;
	/** Who sends the messages. The user, by an account, if it is missing. */
	readonly askedBy?: Actor;
	readonly metadata?: Readonly<Record<string, string>>;
	/** What tools and skills are told of a message: sender, transport, attachments. */
	readonly skillContext?: skill.SkillContext;
	/** Skills that the agent names and that are published elsewhere. */
	readonly skills?: readonly Skill[];
	/** What the tools remember already, by key. */
	readonly state?: Readonly<Record<string, unknown>>;
	/** The files that are there already, by their paths. */
	readonly files?: Readonly<Record<string, string | Uint8Array>>;
	/** What an agent with memory remembers of the person already, by paths. */
	readonly memories?: Readonly<Record<string, string>>;
	/** The agents that work for this one, with their scripts. */
	readonly children?: readonly TestChild[];
	/** The tools of its MCP servers, by the servers' names, with the names that the servers give them. */
	readonly mcp?: TestServers;
}

/** A call that waits for a result, or for a decision (`kind` is `approval`). */
export type PendingCall = Pick<WaitingCall, 'id' | 'name' | 'input' | 'kind'>;

/** A session in memory: an agent, a scripted model, and everything else as it is. */
export interface TestSession {
	/** Sends a message, or the answer to a question, and runs the agent. Rejects with a `RunletError` if the run fails. */
	send(message: string | readonly MessagePart[], by?: Person): Promise<RunResult>;
	/**
	 * Gives results of calls that wait, or allows or denies them, and goes on once none waits any more. Rejects with
	 * `forbidden` where the role of the person or the `approvers` of the agent do not let them decide.
	 */
	submit(answers: readonly CallAnswer[], by?: Person): Promise<RunResult>;
	/** Wakes the agent by one of its schedules. `undefined` if the function of the schedule gives no text. */
	wake(schedule: string, options?: { readonly at?: Date }): Promise<RunResult | undefined>;
	/** The calls that wait for somebody, also those of children. */
	readonly pending: readonly PendingCall[];
	/** The whole conversation. */
	readonly messages: readonly Message[];
	/** The events of all runs. */
	readonly events: readonly RunEvent[];
	/** What the model was sent, turn by turn. */
	readonly requests: providers.ScriptedProvider['requests'];
	/** What the tools remember. */
	readonly state: ToolState;
	/** The files that the tools work on. */
	readonly workspace: Workspace;
	/** What the agent remembers of the person, by paths. */
	readonly memories: Readonly<Record<string, string>>;
	/** The sessions of agents that worked for it, in their order. */
	readonly children: readonly TestSession[];
}

/** An agent that works for another one in a test. */
export interface TestChild {
	readonly agent: Agent;
	/** What its model answers, turn by turn, over all calls of it. */
	readonly script: readonly providers.ScriptedTurn[];
}

/** Somebody who writes to a session or decides in it. */
export interface Person extends Partial<Pick<Actor, 'user' | 'via' | 'id'>> {
	/** What they may do (docs/keys.md, "Roles"). Without it nothing is refused but by `approvers`. */
	readonly role?: Role;
}

/** Returns a person as an actor of an owner. Throws `forbidden` if their role lacks the right. */
export function toActor({ user, via = 'account', id, role }: Person, owner: string, right: Right): Actor {
	if (role !== undefined) assertRight(role, right);
	return { owner, ...(user !== undefined && { user }), via, id: id ?? user ?? owner };
}

let calls = 0;

/** A turn of a script in which the model calls a tool. */
export function callTool(name: string, input: unknown = {}): providers.ScriptedReply {
	return callTools([name, input]);
}

/** A turn of a script in which the model calls several tools. */
export function callTools(...list: readonly (readonly [name: string, input: unknown])[]): providers.ScriptedReply {
	return { toolCalls: list.map(([name, input]) => ({ id: `call_${++calls}`, name, input })), stopReason: 'tool_use' };
}

/** The tools of MCP servers, by the servers' names. */
export type TestServers = Readonly<Record<string, readonly Tool[]>>;
