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

/** The options of a test session. */
export interface TestSessionOptions {
	/** The answers of the model, one entry a turn: a text, `callTool(…)`, a reply, an error, or a function of the request. */
	readonly script: readonly providers.ScriptedTurn[];
	/** The bindings and variables for the tools that the test needs. */
	readonly env?: Partial<Env>;
	/** The tenant of the session. `test` if it is missing. */
	readonly owner?: string;
	/** The person of the session. Tools use this person for authorization. */
	readonly user?: string;
	/** The sender of the messages. If it is missing, the sender is the user, by an account. */
	readonly askedBy?: Actor;
	readonly metadata?: Readonly<Record<string, string>>;
	/** The context of a message for tools and skills: sender, transport, attachments. */
	readonly skillContext?: skill.SkillContext;
	/** The skills that the agent names but that are published elsewhere. */
	readonly skills?: readonly Skill[];
	/** The initial state of the tools, by key. */
	readonly state?: Readonly<Record<string, unknown>>;
	/** The initial files, by their paths. */
	readonly files?: Readonly<Record<string, string | Uint8Array>>;
	/** The initial memories of the person, by paths. */
	readonly memories?: Readonly<Record<string, string>>;
	/** The agents to which this agent gives work, with their scripts. */
	readonly children?: readonly TestChild[];
	/** The tools of its MCP servers, by the servers' names, with the names that the servers give them. */
	readonly mcp?: TestServers;
}

/** A call that waits for a result, or for a decision (`kind` is `approval`). */
export type PendingCall = Pick<WaitingCall, 'id' | 'name' | 'input' | 'kind'>;

/** A session in memory: an agent with a scripted model. Everything except the model is real. */
export interface TestSession {
	/** Sends a message, or the answer to a question, and runs the agent. Rejects with a `RunletError` if the run fails. */
	send(message: string | readonly MessagePart[], by?: Person): Promise<RunResult>;
	/**
	 * Gives results of waiting calls, or approves or denies them, and continues once no call waits. Rejects with
	 * `forbidden` where the role of the person or the `approvers` of the agent do not let them decide.
	 */
	submit(answers: readonly CallAnswer[], by?: Person): Promise<RunResult>;
	/** Wakes the agent by one of its schedules. `undefined` if the function of the schedule gives no text. */
	wake(schedule: string, options?: { readonly at?: Date }): Promise<RunResult | undefined>;
	/** The calls that wait for a person, with the calls of children. */
	readonly pending: readonly PendingCall[];
	/** The whole conversation. */
	readonly messages: readonly Message[];
	/** The events of all runs. */
	readonly events: readonly RunEvent[];
	/** The requests to the model, turn by turn. */
	readonly requests: providers.ScriptedProvider['requests'];
	/** The state of the tools. */
	readonly state: ToolState;
	/** The files that the tools work on. */
	readonly workspace: Workspace;
	/** The memories of the person, by paths. */
	readonly memories: Readonly<Record<string, string>>;
	/** The sessions of the agents that worked for this session, in the order of their start. */
	readonly children: readonly TestSession[];
}

/** An agent that works for another agent in a test. */
export interface TestChild {
	readonly agent: Agent;
	/** The answers of its model, turn by turn, over all its calls. */
	readonly script: readonly providers.ScriptedTurn[];
}

/** A person who writes to a session or decides in it. */
export interface Person extends Partial<Pick<Actor, 'user' | 'via' | 'id'>> {
	/** The role (docs/keys.md, "Roles"). Without a role only the `approvers` of the agent can refuse a decision. */
	readonly role?: Role;
}

/** Returns a person as an actor of an owner. Throws `forbidden` if the role of the person lacks the right. */
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
