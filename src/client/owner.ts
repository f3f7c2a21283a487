/** The methods for the resources of an owner: schedules, skills, HTTP tools, MCP servers and users. */

import { type Http, type SignalOption, toQuery } from './http.ts';
import type {
	ErasedUser,
	ExportedUser,
	Key,
	McpServer,
	McpServerBody,
	McpServerDetails,
	Me,
	PublishedSkill,
	Schedule,
	ScheduleBody,
	SchedulePage,
	SkillPage,
	UserBudget,
	UserCaps,
	UserTool,
	UserToolBody,
	Wake,
} from './types.ts';

export type ScheduleClient = ReturnType<typeof createScheduleClient>;

/** Creates the methods of `/v1/schedules`, for schedules of sessions and agents. The methods need an API key. */
export function createScheduleClient(http: Http) {
	return {
		/** Lists all schedules of the owner, or the schedules of a session, page by page. */
		async listSchedules({ session, signal }: SignalOption & { readonly session?: string } = {}): Promise<Schedule[]> {
			const all: Schedule[] = [];
			for (let cursor: string | undefined; ; ) {
				const path = `/v1/schedules${toQuery({ session, cursor })}`;
				const page: SchedulePage = await http.json(path, { signal });
				all.push(...page.schedules);
				if (page.cursor === undefined) return all;
				({ cursor } = page);
			}
		},

		/** Adds a schedule to a session, or replaces the schedule with the same name. */
		putSchedule(body: ScheduleBody, { signal }: SignalOption = {}): Promise<Schedule> {
			return http.json('/v1/schedules', { method: 'POST', body, signal });
		},

		/** Runs a schedule now, as if its time had come. Two requests are two runs, so a failed request is not repeated. */
		runSchedule(id: string, { signal }: SignalOption = {}): Promise<Wake> {
			return http.once(`/v1/schedules/${encodeURIComponent(id)}/run`, {}, signal);
		},

		/** Cancels a schedule of a session. */
		cancelSchedule(id: string, { signal }: SignalOption = {}): Promise<void> {
			return http.remove(`/v1/schedules/${encodeURIComponent(id)}`, signal);
		},
	};
}

export type SkillClient = ReturnType<typeof createSkillClient>;

interface SkillChangeOptions extends SignalOption {
	/** The version to replace. The call fails as `precondition_failed` if the skill has changed since. */
	readonly etag?: string;
}

interface SkillPageOptions extends SignalOption {
	/** Words to search for. The skills that fit best come first. */
	readonly query?: string;
	readonly cursor?: string;
	readonly limit?: number;
}

/** Creates the methods of `/v1/skills`. They need an API key. Changes need an API key with the scope `admin`. */
export function createSkillClient(http: Http) {
	return {
		/** Lists the published skills by name, or searches them. */
		listSkills({ signal, ...query }: SkillPageOptions = {}): Promise<SkillPage> {
			return http.json(`/v1/skills${toQuery(query)}`, { signal });
		},

		/** Reads a skill as its SKILL.md, with its version. */
		getSkill(name: string, { signal }: SignalOption = {}): Promise<{ markdown: string; etag: string | undefined }> {
			const headers = { accept: 'text/markdown' };
			return http.read(toSkillPath(name), { headers, signal }, async (response) => {
				const etag = response.headers.get('etag')?.replace(/^(?:W\/)?"|"$/g, '');
				return { markdown: await response.text(), etag };
			});
		},

		/** Publishes a SKILL.md. Without `etag`, the skill must be new. */
		putSkill(name: string, markdown: string, { etag, signal }: SkillChangeOptions = {}): Promise<PublishedSkill> {
			const headers = { 'content-type': 'text/markdown', ...toCondition(etag) };
			return http.json(toSkillPath(name), { method: 'PUT', content: markdown, headers, signal });
		},

		deleteSkill(name: string, { signal }: SignalOption = {}): Promise<void> {
			return http.remove(toSkillPath(name), signal);
		},
	};
}

function toCondition(etag: string | undefined): Record<string, string> {
	return etag === undefined ? { 'if-none-match': '*' } : { 'if-match': `"${etag}"` };
}

function toSkillPath(name: string): string {
	return `/v1/skills/${encodeURIComponent(name)}`;
}

export type ToolClient = ReturnType<typeof createToolClient>;

/** Creates the methods of `/v1/tools`: the HTTP tools of an owner. The methods need an API key. */
export function createToolClient(http: Http) {
	return {
		/** Lists the tools that this owner has defined, by name. */
		async listTools({ signal }: SignalOption = {}): Promise<UserTool[]> {
			return (await http.json<{ tools: UserTool[] }>('/v1/tools', { signal })).tools;
		},

		getTool(name: string, { signal }: SignalOption = {}): Promise<UserTool> {
			return http.json(toToolPath(name), { signal });
		},

		/** Defines a tool, or replaces it. Secrets that are left out keep their values if the URL does not change. */
		putTool(name: string, body: UserToolBody, { signal }: SignalOption = {}): Promise<UserTool> {
			return http.json(toToolPath(name), { method: 'PUT', body, signal });
		},

		/** Removes a tool and its secrets. */
		deleteTool(name: string, { signal }: SignalOption = {}): Promise<void> {
			return http.remove(toToolPath(name), signal);
		},
	};
}

function toToolPath(name: string): string {
	return `/v1/tools/${encodeURIComponent(name)}`;
}

export type McpClient = ReturnType<typeof createMcpClient>;

/** Creates the methods of `/v1/mcp`: the MCP servers of an owner. The methods need an API key. */
export function createMcpClient(http: Http) {
	return {
		/** Lists the servers of this owner and of the agents, sorted by name. No server is called. */
		async listMcpServers({ signal }: SignalOption = {}): Promise<McpServer[]> {
			return (await http.json<{ servers: McpServer[] }>('/v1/mcp', { signal })).servers;
		},

		/** Reads a server, and asks it for its tools. */
		getMcpServer(name: string, { signal }: SignalOption = {}): Promise<McpServerDetails> {
			return http.json(toServerPath(name), { signal });
		},

		/** Registers a server, or replaces it. Secrets that are left out are kept as long as the URL stays the same. */
		putMcpServer(name: string, body: McpServerBody, { signal }: SignalOption = {}): Promise<McpServer> {
			return http.json(toServerPath(name), { method: 'PUT', body, signal });
		},

		/** Removes a server, its secrets and its login. */
		deleteMcpServer(name: string, { signal }: SignalOption = {}): Promise<void> {
			return http.remove(toServerPath(name), signal);
		},

		/** Accepts changed tools, each by the hash that `getMcpServer` showed. */
		acceptMcpTools(
			name: string,
			tools: Readonly<Record<string, string>>,
			{ signal }: SignalOption = {},
		): Promise<McpServerDetails> {
			return http.json(`${toServerPath(name)}/accept`, { method: 'POST', body: { tools }, signal });
		},

		/** Begins a login. Open its `url` in a browser. There is no `url` if there is a login already. */
		startMcpLogin(name: string, { signal }: SignalOption = {}): Promise<{ isLoggedIn: boolean; url?: string }> {
			return http.json(`${toServerPath(name)}/login`, { method: 'POST', body: {}, signal });
		},

		endMcpLogin(name: string, { signal }: SignalOption = {}): Promise<void> {
			return http.remove(`${toServerPath(name)}/login`, signal);
		},
	};
}

function toServerPath(name: string): string {
	return `/v1/mcp/${encodeURIComponent(name)}`;
}

export type UserClient = ReturnType<typeof createUserClient>;

/** Creates the methods of `/v1/users`, `/v1/keys` and `/v1/me`. Those of users need a key or an account with a sufficient role. */
export function createUserClient(http: Http) {
	return {
		/** Reads who the caller is, and what the caller may do. Works with the token of a session, too. */
		getMe({ signal }: SignalOption = {}): Promise<Me> {
			return http.json('/v1/me', { signal });
		},

		/** Lists the keys that the server knows, without their secrets. Needs a key with the scope `admin`. */
		async listKeys({ signal }: SignalOption = {}): Promise<Key[]> {
			return (await http.json<{ keys: Key[] }>('/v1/keys', { signal })).keys;
		},

		/** Exports everything of a user: sessions, memories, schedules, the budget and the spending. */
		exportUser(user: string, { signal }: SignalOption = {}): Promise<ExportedUser> {
			return http.json(toUserPath(user), { signal });
		},

		/** Erases a user. The totals of the spending remain. */
		async eraseUser(user: string, { signal }: SignalOption = {}): Promise<ErasedUser> {
			let sessions = 0;
			for (;;) {
				const erased = await http.json<ErasedUser>(toUserPath(user), { method: 'DELETE', signal });
				sessions += erased.sessions;
				if (erased.isDone) return { ...erased, sessions };
			}
		},

		/** Reads the budget of a user, and its use. */
		getUserBudget(user: string, { signal }: SignalOption = {}): Promise<UserBudget> {
			return http.json(`${toUserPath(user)}/budget`, { signal });
		},

		/** Sets the budget of a user. An empty object removes the caps. */
		setUserBudget(user: string, body: UserCaps, { signal }: SignalOption = {}): Promise<UserBudget> {
			return http.json(`${toUserPath(user)}/budget`, { method: 'PUT', body, signal });
		},
	};
}

function toUserPath(user: string): string {
	return `/v1/users/${encodeURIComponent(user)}`;
}
