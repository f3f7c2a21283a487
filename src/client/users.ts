import type { Http, SignalOption } from './http.ts';
import type { ErasedUser, ExportedUser, UserBudget, UserCaps } from './types.ts';

export type UserClient = ReturnType<typeof createUserClient>;

/** Creates the methods of `/v1/users`: the people of an owner. They need a key or an account with the role for it. */
export function createUserClient(http: Http) {
	return {
		/** Exports everything of a user: sessions, memories, schedules, the budget and what was spent. */
		exportUser(user: string, { signal }: SignalOption = {}): Promise<ExportedUser> {
			return http.json(toAddress(user), { signal });
		},

		/** Erases a user. What was spent stays, as numbers. */
		async eraseUser(user: string, { signal }: SignalOption = {}): Promise<ErasedUser> {
			let sessions = 0;
			for (;;) {
				const erased = await http.json<ErasedUser>(toAddress(user), { method: 'DELETE', signal });
				sessions += erased.sessions;
				if (erased.isDone) return { ...erased, sessions };
			}
		},

		/** Shows the budget of a user, and where it stands. */
		getUserBudget(user: string, { signal }: SignalOption = {}): Promise<UserBudget> {
			return http.json(`${toAddress(user)}/budget`, { signal });
		},

		/** Sets what a user may spend. An empty object removes the caps. */
		setUserBudget(user: string, body: UserCaps, { signal }: SignalOption = {}): Promise<UserBudget> {
			return http.json(`${toAddress(user)}/budget`, { method: 'PUT', body, signal });
		},
	};
}

function toAddress(user: string): string {
	return `/v1/users/${encodeURIComponent(user)}`;
}
