/**
 * The parser of event streams. The package holds a copy (scripts/pack/copies.ts), because the parser requires a
 * newer Node than Runlet requires.
 */
export { createParser } from 'eventsource-parser';
