"""A tournament as one page that stands alone: tables, pictures, and games to click through."""
