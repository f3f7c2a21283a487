/** The agents that this Worker serves. Add yours: one file, one line here. */

import { desk } from './desk.ts';

export const agents = [desk];
