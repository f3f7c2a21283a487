import type { Agent } from '../cloudflare/agent/define.ts';
import { assertRight, type Right, type Role } from '../cloudflare/auth/rights.ts';
import type { CallAnswer } from '../core/chat/call-answers.ts';
import type { WaitingCall } from '../core/chat/event.ts';
import type {
	Actor,
	ChatUsage,
	Env,
	Message,
	MessagePart,
	ProviderRegistration,
	providers,
	RunEvent,
	RunResult,
	Skill,
	skill,
	Tool,
	ToolState,
	Workspace,
} from '../core/index.ts';

/** The options of a test session. */
export interface TestSessionOptions {
	/** The model's answers, one for each turn: a text, `callTool(…)`, a reply, an error or a function of a request. */
	readonly script?: readonly providers.ScriptedTurn[];
	/** Real providers, such as `[providers.anthropic({ apiKey })]`, in place of a script. */
	readonly providers?: readonly ProviderRegistration[];
	/** The model of the agent, in place of its own. */
	readonly model?: string;
	/** The bindings and variables that the tools need in the test. */
	readonly env?: Partial<Env>;
	/** The tenant of the session. The default is `test`. */
	readonly owner?: string;
	/** The person of the session. Tools authorize by this person. */
	readonly user?: string;
	/** The sender of the messages. The default is the person of the session (`user`), with `via: 'account'`. */
	readonly askedBy?: Actor;
	readonly metadata?: Readonly<Record<string, string>>;
	/** The context of each message for tools and skills: sender, transport, attachments. */
	readonly skillContext?: skill.SkillContext;
	/** The published skills to which the agent refers by name. Skills in the agent's code are not listed here. */
	readonly skills?: readonly Skill[];
	/** The initial state that tools can read, by key. */
	readonly state?: Readonly<Record<string, unknown>>;
	/** The initial files, by path. */
	readonly files?: Readonly<Record<string, string | Uint8Array>>;
	/** The person's initial memories, by path. */
	readonly memories?: Readonly<Record<string, string>>;
	/** The agents that can work for this agent, each with a script for its model. */
	readonly children?: readonly TestChild[];
	/** The tools of the agent's MCP servers, by server name. Each tool has the name that its server uses. */
	readonly mcp?: TestServers;
	/** Cancels the runs of the session and of its children. */
	readonly signal?: AbortSignal;
}

/** A call that waits for a result, or for a person's decision if `kind` is `approval`. */
export type PendingCall = Pick<WaitingCall, 'id' | 'name' | 'input' | 'kind'>;

/** A session in memory: an agent with a scripted model. Everything except the model is real. */
export interface TestSession {
	/** Sends a message, or the answer to a question, and runs the agent. Rejects with a `RunletError` if the run fails. */
	send(message: string | readonly MessagePart[], by?: Person): Promise<RunResult>;
	/**
	 * Sends the results of waiting calls, or approves or denies calls. The run continues as soon as no call waits.
	 * Rejects with `forbidden` if the person's role or the agent's `approvers` do not allow the decision.
	 */
	submit(answers: readonly CallAnswer[], by?: Person): Promise<RunResult>;
	/** Wakes the agent by one of its schedules. Returns `undefined` if the schedule's function returns no text. */
	wake(schedule: string, options?: { readonly at?: Date }): Promise<RunResult | undefined>;
	/** The calls that wait for a person, including calls of children. */
	readonly pending: readonly PendingCall[];
	/** The whole conversation. */
	readonly messages: readonly Message[];
	/** The events of all runs. */
	readonly events: readonly RunEvent[];
	/** The requests to a scripted model, one for each turn. Real providers record none. */
	readonly requests: providers.ScriptedProvider['requests'];
	/** The cost of all runs so far, with those of the children. */
	readonly usage: ChatUsage;
	/** The state of the tools. */
	readonly state: ToolState;
	/** The files that the tools read and change. */
	readonly workspace: Workspace;
	/** The person's memories, by path. */
	readonly memories: Readonly<Record<string, string>>;
	/** The sessions of the agents that worked for this session, in the order in which they started. */
	readonly children: readonly TestSession[];
}

/** An agent that works for another agent in a test. */
export interface TestChild {
	readonly agent: Agent;
	/** The answers of the agent's model, turn by turn. All calls of the agent share the script. */
	readonly script?: readonly providers.ScriptedTurn[];
}

/** A person who sends messages to a session or decides about its calls. */
export interface Person extends Partial<Pick<Actor, 'user' | 'via' | 'id'>> {
	/** The role (docs/keys.md, "Roles"). Without a role, only the agent's `approvers` can forbid a decision. */
	readonly role?: Role;
}

/** Converts a person to an actor of an owner. Throws `forbidden` if the person's role lacks the right. */
export function toActor({ user, via = 'account', id, role }: Person, owner: string, right: Right): Actor {
	if (role !== undefined) assertRight(role, right);
	return { owner, ...(user !== undefined && { user }), via, id: id ?? user ?? owner };
}

let calls = 0;

/** Returns a turn for a script. In this turn, the model calls a tool. */
export function callTool(name: string, input: unknown = {}): providers.ScriptedReply {
	return callTools([name, input]);
}

/** Returns a turn for a script. In this turn, the model calls several tools. */
export function callTools(...list: readonly (readonly [name: string, input: unknown])[]): providers.ScriptedReply {
	return { toolCalls: list.map(([name, input]) => ({ id: `call_${++calls}`, name, input })), stopReason: 'tool_use' };
}

/** The tools of MCP servers, by server name. */
export type TestServers = Readonly<Record<string, readonly Tool[]>>;
